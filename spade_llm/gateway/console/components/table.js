// Tables that scroll sideways by themselves where they do not fit.

import { el } from "../dom.js";

/**
 * @param {object} options `caption`, for screen readers; `columns`: [{title, cell(row): node or text,
 *   isNumber?, class?}]; `rows`
 */
export function table({ caption, columns, rows }) {
  const look = (column) => [column.isNumber && "is-number", column.class].filter(Boolean).join(" ");
  const head = columns.map((column) => el("th", { scope: "col", class: look(column) }, column.title));
  const body = rows.map((row) =>
    el("tr", null, columns.map((column) => el("td", { class: look(column) }, column.cell(row)))),
  );
  return el(
    "div",
    { class: "table-frame", role: "region", "aria-label": caption, tabindex: "0" },
    el(
      "table",
      { class: "table" },
      el("caption", { class: "unseen" }, caption),
      el("thead", null, el("tr", null, head)),
      el("tbody", null, body),
    ),
  );
}
