"use strict";

/*
 * The facilitator's sheet: reads the panellists' files, checks each, and shows one round. Nothing leaves the browser. A file with
 * a fault is refused whole and named; the others stay.
 */
(() => {
  const { readData, pageRange, cutOf, wholeNumber, crossings, tidy, nameFault, toCsv, parseCsv, saveFile, element, colour } = panelCommon;
  const data = readData();
  const levels = data.levels;
  const [firstPage, lastPage] = pageRange(data.rule, data.locations.length);
  const find = (id) => document.getElementById(id);
  const MOST_BYTES = 2000000;
  const MOST_FAULTS = 5;
  const INTERVAL_WORDS = "The intervals (Wilson) allow for the sampling of the test takers; the cut scores are taken as they are.";

  let read = []; // {name, sheets, notes}: the files that were read
  let refused = []; // {name, faults}
  let chosen = null; // the round shown

  // --- reading ---------------------------------------------------------------------------------------------------------------

  /**
   * Sheets of a file: one per panellist and round, {panellist, round, table, pages} with null where a level has no bookmark.
   * `known` are the sheets of other files, each with the `file` it came from.
   */
  function readSheets(text, known) {
    const rows = parseCsv(text);
    if (!rows.length) return { sheets: [], faults: ["the file is empty"], notes: [] };
    const header = rows[0].cells.map((cell) => tidy(cell).toLowerCase());
    const absent = ["panellist", "level", "page"].filter((name) => !header.includes(name));
    if (absent.length) {
      const hint = /[;\t]/.test(rows[0].cells.join("")) ? "; save it with commas between the columns" : "";
      return { sheets: [], faults: [`no column ${absent.map((name) => `"${name}"`).join(", ")} in the first line${hint}`], notes: [] };
    }
    const repeated = header.filter((name, index) => name && header.indexOf(name) !== index);
    if (repeated.length) return { sheets: [], faults: [`two columns are named "${repeated[0]}"`], notes: [] };
    const faults = [];
    const sheets = new Map();
    for (const { line, cells } of rows.slice(1)) {
      const fault = readRow(header, cells, sheets);
      if (fault) faults.push(`line ${line}: ${fault}`);
    }
    if (rows.length === 1) faults.push("there is no placement under the header");
    for (const sheet of sheets.values()) faults.push(...sheetFaults(sheet, known));
    const notes = header.includes("booklet") ? [] : ["names no booklet: taken as this one"];
    for (const sheet of sheets.values()) {
      const missing = levels.filter((_, index) => sheet.pages[index] === null);
      if (missing.length && !faults.length) notes.push(`${sheet.panellist}, round ${sheet.round}: no bookmark for ${missing.join(", ")}`);
    }
    return { sheets: [...sheets.values()], faults: [...new Set(faults)], notes };
  }

  /** Put one row on its sheet; returns what is wrong with it, or "". */
  function readRow(header, cells, sheets) {
    if (cells.length !== header.length) return `${cells.length} columns where the first line has ${header.length}`;
    const cell = (name, otherwise) => (header.includes(name) ? tidy(cells[header.indexOf(name)]) : otherwise);
    const panellist = cell("panellist"), level = cell("level"), page = wholeNumber(cell("page")), round = wholeNumber(cell("round", "1"));
    const booklet = cell("booklet", ""), table = cell("table", "");
    const wrongName = nameFault(panellist);
    if (wrongName) return wrongName;
    if (booklet && booklet !== data.booklet) return `made in another booklet (${booklet}); this one is ${data.booklet}`;
    if (round === null || round < 1) return `the round "${cell("round", "1")}" is not a whole number from 1`;
    const index = levels.indexOf(level);
    if (index < 0) return `unknown level "${level}"; the levels are ${levels.join(", ")}`;
    if (page === null) return `page "${cell("page")}" is not a whole number from ${firstPage} to ${lastPage}`;
    if (page < firstPage || page > lastPage) return `page ${page} is not from ${firstPage} to ${lastPage}`;
    const key = JSON.stringify([panellist, round]);
    if (!sheets.has(key)) sheets.set(key, { panellist, round, table, pages: levels.map(() => null) });
    const sheet = sheets.get(key);
    if (sheet.pages[index] !== null) return `${panellist} placed ${level} twice in round ${round}`;
    if (sheet.table !== table) return `${panellist} sits at two tables ("${sheet.table}" and "${table}")`;
    sheet.pages[index] = page;
    return "";
  }

  /** What is wrong with a whole sheet: crossed bookmarks, or a panellist and round that another file holds already. */
  function sheetFaults(sheet, known) {
    const faults = crossings(levels, sheet.pages).map(({ text }) => `${sheet.panellist}, round ${sheet.round}: bookmarks cross, ${text}`);
    const same = known.find((other) => other.panellist === sheet.panellist && other.round === sheet.round);
    if (same) faults.push(`${sheet.panellist}, round ${sheet.round} was read already from ${same.file}; remove that file first to replace it`);
    const elsewhere = known.find((other) => other.panellist === sheet.panellist && other.table !== sheet.table && other.table && sheet.table);
    if (elsewhere) faults.push(`${sheet.panellist} sits at table "${sheet.table}", and at "${elsewhere.table}" in ${elsewhere.file}`);
    return faults;
  }

  async function readFile(file) {
    if (file.size > MOST_BYTES) return { sheets: [], faults: ["the file is too large to hold placements"], notes: [] };
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      return readSheets(text, allSheets());
    } catch (error) {
      const coded = error instanceof TypeError;
      return { sheets: [], faults: [coded ? "not UTF-8 text; save it as CSV UTF-8" : error.message], notes: [] };
    }
  }

  async function readFiles(files) {
    let added = 0;
    for (const file of files) {
      const { sheets, faults, notes } = await readFile(file);
      refused = refused.filter(({ name }) => name !== file.name); // a mended file takes its complaint with it
      if (faults.length) refused.push({ name: file.name, faults });
      else {
        read.push({ name: file.name, sheets, notes });
        added += 1;
      }
    }
    chosen = allRounds().at(-1) ?? null;
    draw();
    say(`${added} of ${files.length} ${files.length === 1 ? "file" : "files"} read.`);
  }

  const allSheets = () => read.flatMap(({ name, sheets }) => sheets.map((sheet) => ({ ...sheet, file: name })));
  const allRounds = () => [...new Set(allSheets().map(({ round }) => round))].sort((one, other) => one - other);
  const sheetsOf = (round) => allSheets().filter((sheet) => sheet.round === round);

  // --- arithmetic ------------------------------------------------------------------------------------------------------------

  const thetaOf = (page) => (page === null ? NaN : cutOf(data.rule, page, data.locations));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  /** Middle value, or the mean of the two middle ones; NaN where there is none. */
  function median(values) {
    if (!values.length || values.some(Number.isNaN)) return NaN;
    const sorted = Float64Array.from(values).sort();
    const half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }

  /** Standard deviation with n - 1; NaN for one value or where a value is infinite. */
  function deviation(values) {
    if (values.length < 2 || !values.every(Number.isFinite)) return NaN;
    const centre = mean(values);
    return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
  }

  /** Median distance from the median, not rescaled. */
  function medianDistance(values) {
    const centre = median(values);
    return median(values.map((value) => (value === centre ? 0 : Math.abs(value - centre))));
  }

  function described(values) {
    return {
      n: values.length, median: median(values), mean: mean(values), lowest: values.length ? Math.min(...values) : NaN,
      highest: values.length ? Math.max(...values) : NaN, sd: deviation(values), mad: medianDistance(values),
    };
  }

  const pagesAt = (sheets, index) => sheets.map(({ pages }) => pages[index]).filter((page) => page !== null);
  const aggregate = (values) => (data.aggregate === "mean" ? mean(values) : median(values));
  const cutsOf = (sheets) => levels.map((_, index) => aggregate(pagesAt(sheets, index).map(thetaOf)));

  /** Share of a group at or above a cut, on the straight line between the points given; the end values beyond them. */
  function shareAbove({ theta, share }, cut) {
    if (Number.isNaN(cut)) return NaN;
    if (cut === -Infinity) return 1;
    if (cut === Infinity) return 0;
    if (cut <= theta[0]) return share[0];
    const upper = theta.findIndex((value) => value >= cut);
    if (upper < 0) return share[share.length - 1];
    const weight = (cut - theta[upper - 1]) / (theta[upper] - theta[upper - 1]);
    return share[upper - 1] + weight * (share[upper] - share[upper - 1]);
  }

  function sharesAtLevels(group, cuts) {
    const above = [1, ...cuts.map((cut) => shareAbove(group, cut)), 0];
    return above.slice(0, -1).map((share, index) => share - above[index + 1]);
  }

  /** Wilson's 95% interval of a share of n: [low, high], exactly 0 and 1 where the share is. */
  function wilson(share, n) {
    const z = 1.959963984540054, shrink = (z * z) / n;
    const centre = (share + shrink / 2) / (1 + shrink);
    const half = (z / (1 + shrink)) * Math.sqrt((share * (1 - share)) / n + shrink / (4 * n));
    return [share === 0 ? 0 : Math.max(0, centre - half), share === 1 ? 1 : Math.min(1, centre + half)];
  }

  // --- tables ----------------------------------------------------------------------------------------------------------------

  const signed = (text) => text.replace("-", "−");

  function words(value, digits) {
    if (Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value < 0 ? "open-ended (below)" : "open-ended (above)";
    return signed(value.toFixed(digits));
  }

  function numberCell(value, digits, text = words(value, digits)) {
    return element("td", { "data-value": String(value) }, text);
  }

  /** A table in a box of its own that scrolls; rows are [head, ...cells], the head an element or a text. */
  function tableOf(id, caption, heads, rows) {
    const top = heads.map((head, index) => element("th", index ? { scope: "col" } : { scope: "col", class: "text" }, head));
    const body = rows.map(([head, ...cells]) => element("tr", {}, element("th", { scope: "row" }, head), ...cells));
    const table = element(
      "table", { id }, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...top)), element("tbody", {}, ...body),
    );
    return element("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": caption }, table);
  }

  function placementsTable(sheets) {
    const withTables = sheets.some(({ table }) => table);
    const heads = ["panellist", ...(withTables ? ["table"] : []), ...levels];
    const rows = sheets.map(({ panellist, table, pages }) => [
      panellist,
      ...(withTables ? [element("td", {}, table || "–")] : []),
      ...pages.map((page) => {
        const theta = thetaOf(page);
        if (page === null) return element("td", {}, "–");
        const cell = element("td", { "data-page-number": String(page), "data-value": String(theta) }, String(page));
        cell.append(element("span", { class: "theta" }, ` ${words(theta, 2)}`));
        return cell;
      }),
    ]);
    return tableOf("placements", "Page of each bookmark, with the ability at that page in grey", heads, rows);
  }

  function spreadTable(id, caption, sheets, convert, digits) {
    const heads = ["level", "panellists", "median", "mean", "lowest", "highest", "SD", "MAD"];
    const rows = levels.map((level, index) => {
      const found = described(pagesAt(sheets, index).map(convert));
      const { n, sd, mad } = found;
      const place = ["median", "mean"].map((name) => numberCell(found[name], digits));
      const ends = ["lowest", "highest"].map((name) => numberCell(found[name], convert === thetaOf ? digits : 0));
      return [level, numberCell(n, 0), ...place, ...ends, numberCell(sd, digits), numberCell(mad, digits)];
    });
    return tableOf(id, caption, heads, rows);
  }

  function cutsTable(sheets, before, earlier) {
    const cuts = cutsOf(sheets), cutsBefore = cutsOf(before);
    const heads = ["level", "cut score", "median page", ...(earlier ? [`cut in round ${earlier}`, "change"] : [])];
    const rows = levels.map((level, index) => {
      const more = earlier ? [numberCell(cutsBefore[index], 3), changeCell(cuts[index] === cutsBefore[index] ? 0 : cuts[index] - cutsBefore[index], 3)] : [];
      const page = median(pagesAt(sheets, index));
      const tag = element("span", { class: `tag ${colour(index)}` }, level);
      return [tag, element("td", { class: "cut", "data-value": String(cuts[index]) }, words(cuts[index], 3)), numberCell(page, page % 1 ? 1 : 0), ...more];
    });
    return tableOf("cuts", `Cut scores on the ability scale: ${data.aggregate} of the panellists' abilities`, heads, rows);
  }

  const changeText = (value, digits) => (Number.isFinite(value) && value > 0 ? `+${value.toFixed(digits)}` : words(value, digits));
  const changeCell = (value, digits) => numberCell(value, digits, changeText(value, digits));

  function movementTable(sheets, before, earlier) {
    const pairs = sheets
      .map((sheet) => ({ sheet, old: before.find(({ panellist }) => panellist === sheet.panellist) }))
      .filter(({ old }) => old);
    const changeAt = ({ sheet, old }, index) => (sheet.pages[index] === null || old.pages[index] === null ? NaN : sheet.pages[index] - old.pages[index]);
    const known = levels.map((_, index) => pairs.map((pair) => changeAt(pair, index)).filter((value) => !Number.isNaN(value)));
    const rows = pairs.map((pair) => [pair.sheet.panellist, ...levels.map((_, index) => changeCell(changeAt(pair, index), 0))]);
    rows.push(["moved, of those in both rounds", ...known.map((values) => {
      const moved = values.filter((value) => value !== 0).length;
      return numberCell(moved, 0, `${moved} of ${values.length}`);
    })]);
    rows.push(["mean size of the move", ...known.map((values) => numberCell(mean(values.map(Math.abs)), 2))]);
    return tableOf("movement", `Pages moved since round ${earlier}`, ["panellist", ...levels], rows);
  }

  /** A share, with its interval where the number of test takers is known. */
  function shareCell(share, n) {
    const cell = numberCell(share, 1, Number.isNaN(share) ? "–" : `${(100 * share).toFixed(1)} %`);
    if (!n || Number.isNaN(share)) return cell;
    const [low, high] = wilson(share, n);
    cell.dataset.low = String(low);
    cell.dataset.high = String(high);
    cell.append(element("span", { class: "interval" }, ` ${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)}`));
    return cell;
  }

  function impactTable(cuts) {
    const names = [`below ${levels[0]}`, ...levels];
    const counted = data.impact.some(({ n }) => n);
    const rows = data.impact.map((group) => [
      group.group,
      ...(counted ? [element("td", {}, group.n ? group.n.toLocaleString("en-US") : "–")] : []),
      ...sharesAtLevels(group, cuts).map((share) => shareCell(share, group.n)),
    ]);
    const heads = ["group", ...(counted ? ["test takers"] : []), ...names];
    return tableOf("impact", `Share of each group at each level if these cuts stood${counted ? ", with its 95% interval in grey" : ""}`, heads, rows);
  }

  function impactBars(cuts) {
    const names = [`below ${levels[0]}`, ...levels];
    const box = element("div", { class: "bars", "aria-hidden": "true" });
    for (const group of data.impact) {
      const bar = element("div", { class: "bar" });
      sharesAtLevels(group, cuts).forEach((share, index) => {
        if (!(share > 0)) return;
        const part = element("span", { class: `part ${index ? colour(index - 1) : "below"}`, title: `${names[index]}: ${(100 * share).toFixed(1)} %` });
        part.style.width = `${100 * share}%`;
        if (share > 0.12) part.textContent = index ? levels[index - 1] : "below";
        bar.append(part);
      });
      box.append(element("div", { class: "bar-name" }, group.group), bar);
    }
    return box;
  }

  // --- strip plot --------------------------------------------------------------------------------------------------------------

  function svg(tag, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    made.append(...children);
    return made;
  }

  /** How high each value stands on those equal to it. */
  function stacked(values) {
    const seen = new Map();
    return values.map((value) => {
      const height = seen.get(value) ?? 0;
      seen.set(value, height + 1);
      return height;
    });
  }

  function stripPlot(sheets, before, earlier) {
    const width = Math.max(280, Math.min(960, find("results").clientWidth)), left = 12, right = 12, step = 12;
    const x = (page) => left + ((page - firstPage) / (lastPage - firstPage || 1)) * (width - left - right);
    const described = levels.map((level, index) => {
      const named = sheets.filter(({ pages }) => pages[index] !== null).map(({ panellist, pages }) => `${panellist} ${pages[index]}`);
      return named.length ? `${level}: median page ${median(pagesAt(sheets, index))} (${named.join(", ")})` : `${level}: none`;
    });
    const drawing = svg("svg", { id: "strip", role: "img", "aria-labelledby": "strip-title strip-words" });
    drawing.append(svg("title", { id: "strip-title" }, `Bookmarks of round ${chosen} along the pages`), svg("desc", { id: "strip-words" }, `${described.join(". ")}.`));
    let y = 4;
    levels.forEach((level, index) => {
      const now = sheets.filter(({ pages }) => pages[index] !== null), old = before.filter(({ pages }) => pages[index] !== null);
      const up = stacked(now.map(({ pages }) => pages[index])), down = stacked(old.map(({ pages }) => pages[index]));
      const line = y + 24 + step * (Math.max(0, ...up) + 1);
      const bottom = line + (earlier ? step * (Math.max(0, ...down) + 1) : 0) + 6;
      const group = svg("g", { class: colour(index) });
      group.append(svg("text", { x: left, y: y + 14, class: "plot-level" }, level));
      group.append(svg("line", { x1: left, x2: width - right, y1: line, y2: line, class: "plot-line" }));
      if (now.length) {
        const middle = x(median(pagesAt(sheets, index)));
        group.append(svg("line", { x1: middle, x2: middle, y1: line - 10 - step * (Math.max(0, ...up) + 1), y2: line + 5, class: "plot-median" }));
      }
      old.forEach(({ panellist, pages }, at) => {
        const dot = svg("circle", { cx: x(pages[index]), cy: line + 8 + step * down[at], r: 4, class: "plot-old" });
        dot.append(svg("title", {}, `${panellist}, round ${earlier}: page ${pages[index]}`));
        group.append(dot);
      });
      now.forEach(({ panellist, pages }, at) => {
        const dot = svg("circle", { cx: x(pages[index]), cy: line - 8 - step * up[at], r: 5, class: "plot-dot" });
        dot.append(svg("title", {}, `${panellist}: page ${pages[index]}`));
        group.append(dot);
      });
      drawing.append(group);
      y = bottom + 8;
    });
    const every = [1, 2, 5, 10, 20, 50, 100].find((size) => ((lastPage - firstPage) / size) * 34 < width) ?? 200;
    for (let page = firstPage; page <= lastPage; page += 1) {
      if (page % every && page !== firstPage) continue;
      drawing.append(svg("text", { x: x(page), y: y + 12, class: "plot-tick" }, page === 0 ? "0" : String(page)));
    }
    y += 22;
    drawing.append(svg("text", { x: left, y: y + 10, class: "plot-axis" }, "page of the booklet"));
    drawing.setAttribute("viewBox", `0 0 ${width} ${y + 16}`);
    const caption = `Each dot is a panellist; the dashed line is the median.${earlier ? ` Hollow dots under the line: round ${earlier}.` : ""}`;
    return element("figure", {}, drawing, element("figcaption", {}, caption));
  }

  // --- drawing ---------------------------------------------------------------------------------------------------------------

  function say(text) {
    find("status").textContent = text;
  }

  function drawFiles() {
    find("refused").replaceChildren(...refused.map(({ name, faults }) => {
      const shown = faults.slice(0, MOST_FAULTS);
      if (faults.length > shown.length) shown.push(`and ${faults.length - shown.length} more`);
      const dismiss = element("button", { type: "button", class: "small", "aria-label": `Dismiss the message on ${name}` }, "Dismiss");
      dismiss.addEventListener("click", () => {
        refused = refused.filter((other) => other.name !== name);
        drawFiles();
      });
      const list = element("ul", {}, ...shown.map((fault) => element("li", {}, fault)));
      return element("div", { class: "alert refused" }, element("strong", {}, `${name} was refused`), list, dismiss);
    }));
    find("read-box").hidden = !read.length;
    find("read-count").textContent = read.length === 1 ? "1 file" : `${read.length} files`;
    if (read.some(({ notes }) => notes.length)) find("read-box").open = true;
    find("read").replaceChildren(...read.map((file) => {
      const rounds = [...new Set(file.sheets.map(({ round }) => round))].join(", ");
      const people = [...new Set(file.sheets.map(({ panellist }) => panellist))].join(", ");
      const remove = element("button", { type: "button", class: "small", "aria-label": `Remove ${file.name}` }, "Remove");
      remove.addEventListener("click", () => {
        read = read.filter((other) => other !== file);
        if (!allRounds().includes(chosen)) chosen = allRounds().at(-1) ?? null;
        draw();
        say(`${file.name} removed.`);
        find("files").focus();
      });
      const note = file.notes.length ? [element("span", { class: "file-note" }, file.notes.join("; "))] : [];
      const line = element("span", { class: "file-words" }, element("b", {}, people), ` round ${rounds} `, element("span", { class: "file-name" }, file.name), ...note);
      return element("li", {}, line, remove);
    }));
  }

  function part(heading, ...content) {
    return element("section", {}, element("h2", {}, heading), ...content);
  }

  function drawRound() {
    const rounds = allRounds();
    find("sheet").hidden = !rounds.length;
    if (!rounds.length) return find("results").replaceChildren();
    find("round").replaceChildren(...rounds.map((round) => element("option", { value: round }, `Round ${round}`)));
    find("round").value = String(chosen);
    const earlier = rounds.filter((round) => round < chosen).at(-1) ?? null;
    const sheets = sheetsOf(chosen), before = earlier ? sheetsOf(earlier) : [];
    const cuts = cutsOf(sheets);
    const parts = [
      part(`Round ${chosen}: cut scores`, cutsTable(sheets, before, earlier), stripPlot(sheets, before, earlier)),
      part("Who placed what", placementsTable(sheets)),
    ];
    if (earlier) parts.push(part(`Since round ${earlier}`, movementTable(sheets, before, earlier)));
    parts.push(part(
      "How far the panel agrees",
      spreadTable("by-page", "On the pages of the booklet", sheets, (page) => page, 1),
      spreadTable("by-theta", "On the ability scale", sheets, thetaOf, 3),
      element("p", { class: "note" }, "SD: standard deviation over panellists. MAD: median distance from the median. Both are small when the panel agrees; with an open-ended bookmark there is no SD on the ability scale."),
    ));
    if (data.impact.length) {
      const crossed = levels.findIndex((_, index) => index > 0 && cuts[index] < cuts[index - 1]);
      const shown = crossed > 0
        ? [element("p", { class: "alert" }, `The cuts cross on the ability scale (${levels[crossed]} below ${levels[crossed - 1]}), so there are no shares to show.`)]
        : [impactTable(cuts), ...(data.impact.some(({ n }) => n) ? [element("p", { class: "note" }, INTERVAL_WORDS)] : []), impactBars(cuts)];
      parts.push(part("What it would mean", ...shown));
    }
    find("results").replaceChildren(...parts);
  }

  function draw() {
    drawFiles();
    drawRound();
  }

  function downloadAll() {
    const sheets = allSheets().sort((one, other) => one.round - other.round);
    const withTables = sheets.every(({ table }) => table);
    const header = ["panellist", "round", "level", "page", ...(withTables ? ["table"] : []), "booklet"];
    const rows = sheets.flatMap(({ panellist, round, table, pages }) => levels.flatMap((level, index) => (
      pages[index] === null ? [] : [[panellist, round, level, pages[index], ...(withTables ? [table] : []), data.booklet]]
    )));
    const name = `placements-all-${data.booklet}.csv`;
    saveFile(name, toCsv([header, ...rows]));
    const lost = !withTables && sheets.some(({ table }) => table);
    say(`Saved as ${name}.${lost ? " Some panellists have no table, so the tables were left out." : ""}`);
  }

  // --- start -----------------------------------------------------------------------------------------------------------------

  find("files").addEventListener("change", async (event) => {
    const files = [...event.target.files];
    event.target.value = ""; // so that a mended file of the same name can be chosen again
    await readFiles(files);
  });
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    find("drop").classList.add("over");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) find("drop").classList.remove("over");
  });
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    find("drop").classList.remove("over");
    await readFiles([...event.dataTransfer.files]);
  });
  find("round").addEventListener("change", (event) => {
    chosen = Number(event.target.value);
    drawRound();
    say(`Round ${chosen} is shown.`);
  });
  find("download").addEventListener("click", downloadAll);
  find("print").addEventListener("click", () => window.print());
  let lastWidth = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== lastWidth && chosen !== null) drawRound();
    lastWidth = window.innerWidth;
  });
  document.documentElement.classList.add("ready");
})();
