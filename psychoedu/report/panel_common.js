"use strict";

/*
 * What the panellist's form and the facilitator's sheet share: the rules of the bookmark, CSV files, small helpers.
 * Text from data reaches the page as text nodes only.
 */
const panelCommon = (() => {
  /** The settings that Python wrote into the page. */
  function readData() {
    return JSON.parse(document.getElementById("panel-data").textContent);
  }

  /** First and last page on which a bookmark may lie. */
  function pageRange(rule, nPages) {
    return rule === "first-not-mastered" ? [1, nPages + 1] : [0, nPages];
  }

  /** Cut on the ability scale of a bookmark: infinite where no page bounds it. */
  function cutOf(rule, page, locations) {
    const last = locations.length;
    if (rule === "first-not-mastered") return page > last ? Infinity : locations[page - 1];
    if (page === 0) return -Infinity;
    if (rule === "last-mastered") return locations[page - 1];
    return page === last ? Infinity : (locations[page - 1] + locations[page]) / 2;
  }

  /** A whole number as someone or some program wrote it ("12", "12.0"), or null if it is none. */
  function wholeNumber(text) {
    return /^\d{1,9}(\.0*)?$/.test(text) ? Number(text) : null;
  }

  /** Faults of pages in the order of their levels: a higher level before a lower one. Levels without a page are passed over. */
  function crossings(levels, pages) {
    const faults = [];
    let lower = -1;
    pages.forEach((page, index) => {
      if (page === null) return;
      if (lower >= 0 && page < pages[lower]) {
        faults.push({
          lower, upper: index,
          text: `${levels[index]} (page ${page}) lies before ${levels[lower]} (page ${pages[lower]})`,
        });
      }
      lower = index;
    });
    return faults;
  }

  /** One way to write a name: composed characters, no space around it. */
  function tidy(text) {
    return text.normalize("NFC").trim();
  }

  /**
   * What is wrong with a panellist's name, or "". A spreadsheet would take a text that begins with = + - or @ for a formula;
   * a sign put before it would come back as part of the name, so such names are not written at all.
   */
  function nameFault(name) {
    if (name === "") return "The name is missing.";
    if (/^[=+\-@]/.test(name)) return `The name "${name}" begins with ${name[0]}, which spreadsheets take for a formula: begin with a letter or a digit.`;
    return "";
  }

  function csvField(value) {
    const text = String(value);
    return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  /** Rows of values as CSV. */
  function toCsv(rows) {
    return rows.map((row) => row.map(csvField).join(",") + "\r\n").join("");
  }

  /** Read CSV: rows of {line, cells}, empty lines left out. Throws an Error that says what is wrong and where. */
  function parseCsv(text) {
    const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
    const rows = [];
    let at = 0, line = 1;

    const plainCell = () => {
      const start = at;
      while (at < source.length && !",\r\n".includes(source[at])) at += 1;
      return source.slice(start, at);
    };
    const quotedCell = () => {
      const opened = line;
      let cell = "";
      for (at += 1; at < source.length; at += 1) {
        if (source[at] === '"' && source[at + 1] !== '"') {
          at += 1;
          if (at < source.length && !",\r\n".includes(source[at])) throw new Error(`line ${line}: text after a closing quotation mark`);
          return cell;
        }
        if (source[at] === '"') at += 1; // two quotation marks stand for one
        if (source[at] === "\n") line += 1;
        cell += source[at];
      }
      throw new Error(`line ${opened}: a quotation mark is opened and never closed`);
    };

    while (at < source.length) {
      const row = { line, cells: [] };
      for (let more = true; more;) {
        row.cells.push(source[at] === '"' ? quotedCell() : plainCell());
        more = source[at] === ",";
        if (more) at += 1;
      }
      if (row.cells.some((cell) => cell.trim() !== "")) rows.push(row);
      if (source[at] === "\r") at += 1;
      if (source[at] === "\n") at += 1;
      line += 1;
    }
    return rows;
  }

  /** Part of a file name: letters and digits of any script, everything else a hyphen. */
  function safeName(text) {
    const safe = text.normalize("NFC").replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
    return Array.from(safe).slice(0, 40).join("") || "panellist";
  }

  /** Hand a text to the browser as a file to save. */
  function saveFile(name, text) {
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    const link = element("a", { href: address, download: name, hidden: "" });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  }

  /** Make an element; strings among the children become text. */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** Class that gives a level its colour. */
  function colour(index) {
    return `level-${index % 6}`;
  }

  return { readData, pageRange, cutOf, wholeNumber, crossings, tidy, nameFault, toCsv, parseCsv, safeName, saveFile, element, colour };
})();
