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
        const wide = ctx.measureText(text).width;
        if (name === 'x') ctx.fillText(text, at + 5 + wide > area.right ? at - 5 - wide : at + 5, area.top + 12);
        else ctx.fillText(text, area.right - wide - 4, at - 5);
      }
      ctx.restore();
    },
  };
  // Names beside marks, each at the first of eight places that is free. A name without one is left to the tooltip, or, if all of its
  // set must be named, stands at the end of a line, over marks of other sets.
  // A line that leads through the marks leaves the places at their lower left free, so these come first there.
  const places = (wide, high) => [
    [10, 4],
    [-10 - wide, 4],
    [-wide / 2, -10],
    [-wide / 2, high + 10],
    [8, -8],
    [8, high + 6],
    [-8 - wide, -8],
    [-8 - wide, high + 6],
  ];
  const lowerLeft = (wide, high) => [
    [-10 - wide, high + 4],
    [-10 - wide, 4],
    [-wide - 2, high + 12],
    [8, -9],
    [8, high + 10],
    [-wide / 2, -12],
  ];
  function* farPlaces(wide, high) {
    for (let far = 22; far < 300; far += 12)
      for (let turn = 0; turn < 16; turn++) {
        const x = far * Math.cos((turn * Math.PI) / 8),
          y = far * Math.sin((turn * Math.PI) / 8);
        yield [x < 0 ? x - wide : x, y + high / 2];
      }
  }
  const names = {
    id: 'names',
    afterDatasetsDraw(chart) {
      const { ctx, chartArea: area } = chart,
        high = 9;
      const sets = chart.data.datasets.map((set, i) => ({ set, marks: chart.getDatasetMeta(i).data }));
      const around = list => list.flatMap(s => s.marks.map(m => ({ x: m.x - 5, y: m.y - 5, w: 10, h: 10 })));
      const taken = around(sets),
        firm = around(sets.filter(s => s.set.showLine));
      const isFree = (b, taken) =>
        b.x > area.left &&
        b.x + b.w < area.right &&
        b.y > area.top &&
        b.y + b.h < area.bottom + 4 &&
        !taken.some(t => t.x < b.x + b.w && b.x < t.x + t.w && t.y < b.y + b.h && b.y < t.y + t.h);
      ctx.save();
      ctx.font = '12px ' + Chart.defaults.font.family;
      ctx.fillStyle = colour('text');
      chart.placedNames = [];
      sets
        .filter(s => s.set.named)
        .forEach(({ set, marks }) =>
          marks.forEach((mark, k) => {
            const text = set.data[k].text,
              w = ctx.measureText(text).width;
            const boxAt = ([x, y]) => ({ x: mark.x + x, y: mark.y + y - high, w, h: high + 3 });
            const near = (set.showLine ? lowerLeft : places)(w, high).map(boxAt).find(b => isFree(b, taken)),
              inside = b => ({ ...b, x: Math.min(Math.max(b.x, area.left + 2), area.right - w - 2) }),
              box = near || (set.showLine && [...farPlaces(w, high)].map(boxAt).map(inside).find(b => isFree(b, firm)));
            if (!box) return;
            taken.push(box);
            firm.push(box);
            if (!near) {
              ctx.fillStyle = colour('panel');
              ctx.fillRect(box.x - 1, box.y, box.w + 2, box.h);
              ctx.fillStyle = colour('text');
              ctx.beginPath();
              ctx.moveTo(mark.x, mark.y);
              ctx.lineTo(box.x > mark.x ? box.x - 2 : box.x + w < mark.x ? box.x + w + 2 : mark.x, box.y + high / 2);
              ctx.strokeStyle = colour('soft');
              ctx.stroke();
            }
            chart.placedNames.push({ text, ...box });
            ctx.fillText(text, box.x, box.y + high);
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
  };
})();
