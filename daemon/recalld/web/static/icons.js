/**
 * Line icons of 24 x 24, drawn for this page.
 */
import { svg } from "./dom.js";

const PATHS = {
  memories: ["M5 6h14M5 11h14M5 16h9", "M17.5 18.5h.01"],
  inbox: ["M4 13l2.5-7.5h11L20 13v5.5H4z", "M4 13h5l1.2 2.5h3.6L15 13h5"],
  conflicts: ["M4 8h11l-3-3.5M20 16H9l3 3.5"],
  receipts: ["M6 3.5h12v17l-3-2-3 2-3-2-3 2z", "M9.5 8.5h5M9.5 12.5h5"],
  insights: ["M5 20v-6M10 20V9M15 20v-8M20 20V4.5"],
  system: ["M4 7h9M17 7h3M4 17h3M11 17h9", "M15 5v4M9 15v4"],
  search: ["M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L20 20"],
  pin: ["M9 4h6l-.8 6 3.3 3.5h-11L9.8 10z", "M12 13.5V20"],
  edit: ["M4.5 19.5l.8-4L15.5 5.3l3.2 3.2L8.5 18.7z", "M13.3 7.5l3.2 3.2"],
  archive: ["M4 5h16v4H4z", "M5.5 9v10h13V9", "M10 13h4"],
  restore: ["M5 11a7 7 0 1 1 1.8 5.5", "M4.5 6v5h5"],
  delete: ["M5 7h14M10 7V4.5h4V7", "M7 7l.8 12.5h8.4L17 7", "M10.5 11v5M13.5 11v5"],
  confirm: ["M5 12.5l4.5 4.5L19 7.5"],
  close: ["M6 6l12 12M18 6L6 18"],
  plus: ["M12 5v14M5 12h14"],
  more: ["M9 6l6 6-6 6"],
  sun: ["M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9z", "M12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1.1 1.1M17.3 17.3l1.1 1.1M18.4 5.6l-1.1 1.1M6.7 17.3l-1.1 1.1"],
  moon: ["M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z"],
  auto: ["M12 4a8 8 0 1 0 0 16z", "M12 4a8 8 0 0 1 0 16"],
  keyboard: ["M3.5 7h17v10h-17z", "M7 10.5h.01M10.5 10.5h.01M14 10.5h.01M17 10.5h.01M8.5 14h7"],
  language: ["M4 6.5h9M8.5 4.5v2M6 6.5c.6 3.5 3 6 6 7M11 6.5c-.6 3.5-3 6-6 7", "M12.5 19.5l3.7-9 3.8 9M13.8 16.5h4.9"],
  undo: ["M5 9h9.5a4.5 4.5 0 0 1 0 9H9", "M8.5 5.5L5 9l3.5 3.5"],
  pause: ["M9 6v12M15 6v12"],
  play: ["M8 5.5v13l10-6.5z"],
  alert: ["M12 4l9 16H3z", "M12 10v4.5M12 17.2h.01"],
};

/** The icon `name`; whoever uses it gives the name for those who do not see it. */
export function icon(name) {
  return svg("svg", { class: `icon icon-${name}`, viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" },
    PATHS[name].map((d) => svg("path", { d })));
}
