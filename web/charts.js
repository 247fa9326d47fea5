// charts.js - what all figures share: colours, axes, tooltips, marks that can be clicked, and labels beside marks. Drawn by Chart.js.
'use strict';
const Charts = (() => {
  const made = new Map();
  const colour = name =>
    getComputedStyle(document.documentElement)
      .getPropertyValue('--' + name)
      .trim();
  const palette = i => colour('c' + (1 + (i % 8)));
  const faint = (hex, part) =>
    hex +
    Math.round(part * 255)
      .toString(16)
      .padStart(2, '0');
  const { short } = Format;

  // ---- axes

  function axis(title, more = {}) {
    const { ticks, ...rest } = more;
    return {
      title: { display: Boolean(title), text: title, color: colour('soft') },
      border: { display: false },
      ticks: {
        color: colour('soft'),
        maxRotation: 0,
        callback(v) {
          return typeof this.getLabelForValue === 'function' && this.type === 'category'
            ? this.getLabelForValue(v)
            : Number(v.toPrecision(3));
        },
        ...ticks,
      },
      grid: { color: colour('grid'), drawBorder: false },
      ...rest,
    };
  }
  // Ticks at powers of ten; over a short range also at 2 and 5 times them; over a range with few of these, at equal steps.
  const LEAST_TICKS = 3;
  function logTicks(scale) {
    const inside = values => values.filter(v => v >= scale.min && v <= scale.max),
      mantissas = scale.max / scale.min < 1000 ? [1, 2, 5] : [1];
    let ticks = [];
    for (let k = Math.floor(Math.log10(scale.min)); k <= Math.log10(scale.max); k++) ticks.push(...mantissas.map(m => m * 10 ** k));
    if (inside(ticks).length < LEAST_TICKS) {
      const size = (scale.max - scale.min) / LEAST_TICKS,
        power = 10 ** Math.floor(Math.log10(size)),
        step = power * [5, 2, 1].find(m => m * power <= size);
      ticks = Array.from({ length: 20 }, (_, i) => Number(((Math.floor(scale.min / step) + i) * step).toPrecision(6)));
    }
    scale.ticks = inside(ticks).map(value => ({ value }));
  }
  // Margin around the data, so that no mark is cut off.
  function log(title, values, margin = 1.5) {
    const known = values.filter(v => v > 0 && isFinite(v));
    return axis(title, {
      type: 'logarithmic',
      min: Math.min(...known) / margin,
      max: Math.max(...known) * margin,
      afterBuildTicks: logTicks,
      ticks: { callback: v => short(v) },
    });
  }
  // Ticks at powers of two.
  function doubling(title, values) {
    const most = Math.max(2, ...values),
      each = Math.log2(most) > 8 ? 4 : 2;
    return axis(title, {
      type: 'logarithmic',
      min: 1,
      max: most,
      ticks: { callback: v => v },
      afterBuildTicks: scale => {
        scale.ticks = [];
        for (let v = 1; v <= most; v *= each) scale.ticks.push({ value: v });
      },
    });
  }
  const labelAxis = (narrow, more = {}) =>
    axis('', {
      ...more,
      grid: { display: false, drawBorder: false },
      ticks: { autoSkip: false, color: colour('text'), font: { size: narrow ? 10 : 12 }, ...more.ticks },
    });
  const isNarrow = id => document.getElementById(id)?.parentElement.clientWidth < 480;
  const inLines = (narrow, first, second) => (narrow ? [first, second] : first + ', ' + second);
  const thin = { maxBarThickness: 22, borderRadius: 2, borderSkipped: false };

  // ---- drawing

  const legend = more => ({
    position: 'bottom',
    align: 'start',
    labels: { color: colour('text'), boxWidth: 12, boxHeight: 12, padding: 14, ...more },
  });
  const noLegend = { legend: { display: false } };
  const tip = (label, title) => ({ tooltip: { callbacks: { label, ...(title && { title }) } } });

  // Load the chart library unless it is loaded. Without it, a page has its tables only.
  let loading = null;
  const library = () =>
    (loading ??=
      typeof Chart === 'undefined'
        ? new Promise(done => document.head.append(make('script', { src: 'chart.js', onload: done, onerror: done })))
        : Promise.resolve());

  // `choose(index, dataset)` is called for the mark that is clicked.
  function draw(id, config, choose) {
    const canvas = document.getElementById(id);
    if (!canvas || typeof Chart === 'undefined') return;
    made.get(id)?.destroy();
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    const click = choose && {
      // After the event, because the choice may remove this chart.
      onClick: (event, marks) => {
        if (marks.length) setTimeout(() => choose(marks[0].index, marks[0].datasetIndex));
      },
      onHover: (event, marks) => {
        event.native.target.style.cursor = marks.length ? 'pointer' : 'default';
      },
    };
    config.options = {
      responsive: true,
      maintainAspectRatio: false,
      animation: false,
      clip: 8,
      color: colour('text'),
      ...click,
      ...config.options,
    };
    config.options.plugins = { legend: legend(), ...config.options.plugins };
    config.options.plugins.tooltip = { padding: 10, boxPadding: 4, ...config.options.plugins.tooltip };
    made.set(id, new Chart(canvas, config));
  }
  function drop(ids) {
    ids.forEach(id => {
      made.get(id)?.destroy();
      made.delete(id);
    });
  }
  // Set the height by the number of bars.
  function fitHeight(id, rows, each = 20, least = 4) {
    const box = document.getElementById(id)?.parentElement;
    if (box) box.style.height = Math.max(least, rows) * each + 70 + 'px';
  }

  // ---- plugins

  // A dot at each predicted value on floating bars that show its interval.
  const dots = {
    id: 'dots',
    afterDatasetsDraw(chart) {
      const set = chart.data.datasets[0],
        {
          ctx,
          scales: { x },
        } = chart;
      chart.getDatasetMeta(0).data.forEach((mark, k) => {
        ctx.beginPath();
        ctx.arc(x.getPixelForValue(set.values[k]), mark.y, 4.5, 0, 2 * Math.PI);
        ctx.fillStyle = set.dotColour[k];
        ctx.fill();
      });
    },
  };
  // A vertical line, for a limit such as a deadline.
  const limits = {
    id: 'limits',
    afterDatasetsDraw(chart) {
      const { ctx, chartArea: area } = chart;
      ctx.save();
      ctx.setLineDash([5, 4]);
      ctx.strokeStyle = colour('warn');
      ctx.fillStyle = colour('warn');
      ctx.font = '12px ' + Chart.defaults.font.family;
      chart.limitBoxes = [];
      for (const { axis: name, value, text } of chart.options.limits || []) {
        const scale = chart.scales[name],
          at = scale.getPixelForValue(value);
        if (!(value > scale.min && value < scale.max)) continue;
        ctx.beginPath();
        if (name === 'x') {
          ctx.moveTo(at, area.top);
          ctx.lineTo(at, area.bottom);
        } else {
          ctx.moveTo(area.left, at);
          ctx.lineTo(area.right, at);
        }
        ctx.stroke();
        const wide = ctx.measureText(text).width,
          left = name === 'y' ? area.right - wide - 4 : at + 5 + wide > area.right ? at - 5 - wide : at + 5,
          base = name === 'y' ? at - 5 : area.top + 12;
        ctx.fillText(text, left, base);
        chart.limitBoxes.push(
          { x: left, y: base - 11, w: wide, h: 14 },
          name === 'x' ? { x: at - 1, y: area.top, w: 2, h: area.bottom - area.top } : { x: area.left, y: at - 1, w: area.right - area.left, h: 2 },
        );
      }
      ctx.restore();
    },
  };
  // Names beside marks. Nothing is at the lower left of a mark on a front, where no other is both faster and cheaper. So its name stands
  // there, lowered until it is free, with a line to its mark; no two of these cross. The axes leave room for them. The name of another
  // mark stands at the first of eight places that is free, or is left to the tooltip.
  const NAME_HEIGHT = 12;
  const places = wide => [
    [10, -6],
    [-10 - wide, -6],
    [-wide / 2, -19],
    [-wide / 2, 7],
    [8, -17],
    [8, 4],
    [-8 - wide, -17],
    [-8 - wide, 4],
  ];
  const around = m => ({ x: m.x - 5, y: m.y - 5, w: 10, h: 10 });
  const overlap = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
  const isFree = (box, taken) => !taken.some(t => overlap(box, t));
  const widths = (ctx, texts) => {
    ctx.font = '12px ' + Chart.defaults.font.family;
    return texts.map(text => ctx.measureText(text).width);
  };
  // The stairs between the marks of a front, as boxes.
  const stairs = marks =>
    marks.slice(1).flatMap((m, k) => [
      { x: marks[k].x, y: marks[k].y - 1, w: m.x - marks[k].x, h: 2 },
      { x: m.x - 1, y: marks[k].y, w: 2, h: m.y - marks[k].y },
    ]);
  // From a mark to the end of its name.
  const leader = (m, box) => ({ x: box.x + box.w, y: m.y, w: m.x - box.x - box.w, h: Math.max(0, box.y + box.h / 2 - m.y) });
  function frontNames(marks, wide) {
    const taken = [...marks.map(around), ...stairs(marks)];
    return marks.map((m, k) => {
      const box = { x: m.x - 8 - wide[k], y: m.y - NAME_HEIGHT / 2, w: wide[k], h: NAME_HEIGHT };
      while (!isFree(box, taken)) box.y += 2;
      taken.push(box, ...(box.y > m.y ? [leader(m, box)] : []));
      return box;
    });
  }
  // The lower ends of both logarithmic axes that leave room for the names of a front. `lows` and `highs` are the ends without names.
  const TICKS_WIDTH = 66,
    BELOW_CHART = 132; // ticks, title, legend
  function roomForNames(chart, front, lows, highs) {
    const wide = widths(
        chart.ctx,
        front.map(p => p.text),
      ),
      size = [chart.width - TICKS_WIDTH, chart.height - BELOW_CHART],
      high = highs.map(Math.log),
      low = lows.map(Math.log),
      at = (value, axis) => ((Math.log(value) - low[axis]) / (high[axis] - low[axis])) * size[axis];
    front.forEach((p, k) => {
      const part = Math.min((wide[k] + 14) / size[0], 0.6);
      low[0] = Math.min(low[0], (Math.log(p.x) - part * high[0]) / (1 - part));
    });
    for (let turn = 0; turn < 60; turn++) {
      const boxes = frontNames(
        front.map(p => ({ x: at(p.x, 0), y: size[1] - at(p.y, 1) })),
        wide,
      );
      if (boxes.every(b => b.y + b.h < size[1])) break;
      low[1] -= 0.04 * (high[1] - low[1]);
    }
    return low.map(Math.exp);
  }
  const names = {
    id: 'names',
    afterDatasetsDraw(chart) {
      const { ctx, chartArea: area } = chart,
        [front, ...others] = chart.data.datasets.map((set, i) => ({ set, marks: chart.getDatasetMeta(i).data, wide: widths(ctx, set.data.map(p => p.text)) })),
        boxes = frontNames(front.marks, front.wide),
        lines = front.marks.map((m, k) => leader(m, boxes[k])),
        taken = [front, ...others].flatMap(s => s.marks.map(around)).concat(boxes, lines, stairs(front.marks), chart.limitBoxes || []);
      ctx.save();
      chart.placedNames = [];
      const write = (text, box, more) => {
        ctx.fillStyle = colour('text');
        ctx.fillText(text, box.x, box.y + 10);
        chart.placedNames.push({ text, ...box, ...more });
      };
      ctx.fillStyle = colour('panel');
      boxes.forEach(box => ctx.fillRect(box.x - 1, box.y, box.w + 2, box.h));
      front.marks.forEach((m, k) => {
        const box = boxes[k];
        if (lines[k].h > NAME_HEIGHT / 2) {
          ctx.beginPath();
          ctx.moveTo(m.x - 2, m.y + 5);
          ctx.lineTo(box.x + box.w + 2, box.y + box.h / 2);
          ctx.strokeStyle = colour('soft');
          ctx.stroke();
        }
        write(front.set.data[k].text, box, { line: lines[k] });
      });
      others
        .filter(s => s.set.named)
        .forEach(({ set, marks, wide }) =>
          marks.forEach((m, k) => {
            const box = places(wide[k])
              .map(([x, y]) => ({ x: m.x + x, y: m.y + y, w: wide[k], h: NAME_HEIGHT }))
              .find(b => b.x > area.left && b.x + b.w < area.right && b.y > area.top && b.y + b.h < area.bottom && isFree(b, taken));
            if (!box) return;
            taken.push(box);
            write(set.data[k].text, box);
          }),
        );
      ctx.restore();
    },
  };
  return {
    colour,
    palette,
    faint,
    axis,
    log,
    doubling,
    labelAxis,
    isNarrow,
    inLines,
    thin,
    legend,
    noLegend,
    tip,
    library,
    draw,
    drop,
    fitHeight,
    dots,
    limits,
    names,
    roomForNames,
  };
})();
