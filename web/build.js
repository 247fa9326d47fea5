// build.js - small functions that make HTML elements. Texts are inserted as text, never as markup.
'use strict';
const $ = id => document.getElementById(id);
// make('p', {className: 'soft'}, 'text', element, ...); attributes that are not properties go through setAttribute.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name in element && name !== 'list') element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}
// A table from columns [name, unit] and rows of texts. A column without a unit contains words. Columns without any value are left out.
function fillTable(table, allColumns, allRows) {
  const kept = allColumns.map((c, i) => i === 0 || allRows.some(row => row[i] !== '–' && row[i] !== ''));
  const columns = allColumns.filter((c, i) => kept[i]),
    rows = allRows.map(row => row.filter((c, i) => kept[i]));
  const head = columns.map(([name, unit]) =>
    make('th', { scope: 'col', className: unit === undefined ? 'word' : '' }, name, unit ? make('small', {}, unit) : null),
  );
  const body = rows.map(row =>
    make(
      'tr',
      {},
      ...row.map((cell, i) =>
        make(i ? 'td' : 'th', { scope: i ? null : 'row', className: columns[i][1] === undefined ? 'word' : '' }, cell),
      ),
    ),
  );
  table.replaceChildren(make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...body));
}
const terms = pairs =>
  pairs
    .filter(([, value]) => value && value !== '–')
    .flatMap(([term, value]) => [make('div', {}, make('dt', {}, term), make('dd', {}, value))]);
