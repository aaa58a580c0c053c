"use strict";

/*
 * The panellist's form: one bookmark per level, placed by a button on a page or by its number, kept in this browser, downloaded
 * as CSV. Everything on the screen is drawn from `state`; `change` is the only place that alters it.
 */
(() => {
  const { readData, pageRange, wholeNumber, crossings, tidy, nameFault, toCsv, safeName, saveFile, element, colour } = panelCommon;
  const data = readData();
  const levels = data.levels;
  const [firstPage, lastPage] = pageRange(data.rule, data.pages);
  const find = (id) => document.getElementById(id);

  const state = { round: data.round, name: data.panellist, table: data.table, pages: levels.map(() => null) };
  const typingFaults = levels.map(() => ""); // what is wrong with a number that was typed and is not a page
  let undoable = [];

  // --- what this browser keeps ---------------------------------------------------------------------------------------------

  const storage = (() => {
    try {
      const kept = window.localStorage;
      const probe = "psychoedu-probe";
      kept.setItem(probe, "1");
      kept.removeItem(probe);
      return kept;
    } catch {
      return null;
    }
  })();

  const keyOf = (what) => JSON.stringify(["psychoedu-bookmarks", data.booklet, what, data.rule, levels, data.panellist, data.table]);

  function keep() {
    if (!storage) return;
    try {
      storage.setItem(keyOf(state.round), JSON.stringify({ name: state.name, table: state.table, pages: state.pages }));
      storage.setItem(keyOf(`opened as ${data.round}`), String(state.round));
    } catch {
      showNote("storage-note", "This browser has no room left to keep your placements. Download them before you close this page.");
    }
  }

  /** What was kept for a round, or null; anything that this form could not have written counts as nothing. */
  function kept(round) {
    if (!storage) return null;
    try {
      const found = JSON.parse(storage.getItem(keyOf(round)));
      const isPage = (page) => page === null || (Number.isInteger(page) && page >= firstPage && page <= lastPage);
      const whole = found && typeof found.name === "string" && typeof found.table === "string" && Array.isArray(found.pages);
      return whole && found.pages.length === levels.length && found.pages.every(isPage) ? found : null;
    } catch {
      return null;
    }
  }

  function openRound(round) {
    const found = kept(round);
    state.round = round;
    state.pages = found ? found.pages : levels.map(() => null);
    if (found) [state.name, state.table] = [found.name, found.table];
    typingFaults.fill("");
    undoable = [];
  }

  /** Latest round before this one of which this browser keeps bookmarks, or null. */
  function earlierRound() {
    for (let round = state.round - 1; round >= 1 && round > state.round - 20; round -= 1) {
      const found = kept(round);
      if (found && found.pages.some((page) => page !== null)) return round;
    }
    return null;
  }

  // --- words -----------------------------------------------------------------------------------------------------------------

  function pageName(page) {
    if (page === 0) return "before page 1";
    return page > data.pages ? `after page ${data.pages}` : `on page ${page}`;
  }

  function isOpenEnded(page) {
    return page === 0 || page > data.pages || (data.rule === "midpoint" && page === data.pages);
  }

  function hintOf(index) {
    const page = state.pages[index];
    if (typingFaults[index]) return typingFaults[index];
    if (page === null) return "not placed yet";
    const where = page >= 1 && page <= data.pages ? `item ${data.items[page - 1]}` : pageName(page);
    return isOpenEnded(page) ? `${where} · open-ended` : where;
  }

  /** Why the placements cannot be downloaded yet. */
  function faultsNow() {
    const faults = typingFaults.map((fault, index) => (fault ? `${levels[index]}: ${fault}` : "")).filter((fault) => fault);
    for (const { text } of crossings(levels, state.pages)) {
      faults.push(`Bookmarks cross: ${text}. A higher level needs the same page or a later one.`);
    }
    return faults;
  }

  function missingNow() {
    const missing = levels.filter((level, index) => state.pages[index] === null && !typingFaults[index]);
    return missing.length ? [`No bookmark yet for ${missing.join(", ")}.`] : [];
  }

  // --- changes ---------------------------------------------------------------------------------------------------------------

  function change(next, said) {
    undoable.push({ pages: state.pages.slice(), typed: typingFaults.slice() });
    if (undoable.length > 200) undoable.shift();
    next();
    keep();
    draw();
    say(said);
  }

  function place(index, page) {
    const moved = state.pages[index] !== null;
    change(() => {
      state.pages[index] = page;
      typingFaults[index] = "";
    }, page === null ? `${levels[index]} bookmark removed.` : `${levels[index]} bookmark ${moved ? "moved" : "placed"} ${pageName(page)}.`);
  }

  function typed(index, field) {
    const text = field.value.trim();
    const page = wholeNumber(text);
    if (text === "" && !field.validity.badInput) {
      if (state.pages[index] !== null || typingFaults[index]) place(index, null);
      return;
    }
    if (page !== null && page >= firstPage && page <= lastPage) {
      if (page !== state.pages[index]) place(index, page);
      return;
    }
    change(() => {
      state.pages[index] = null;
      typingFaults[index] = `pages are whole numbers from ${firstPage} to ${lastPage}`;
    }, `${levels[index]}: pages are whole numbers from ${firstPage} to ${lastPage}.`);
  }

  function undo() {
    const before = undoable.pop();
    if (!before) return;
    state.pages = before.pages;
    before.typed.forEach((fault, index) => { typingFaults[index] = fault; });
    keep();
    draw();
    say("Last change undone.");
  }

  function download() {
    state.name = tidy(find("panellist").value);
    const faults = [nameFault(state.name), ...missingNow(), ...faultsNow()].filter((fault) => fault);
    if (wholeNumber(find("round").value) !== state.round) faults.unshift("The round has to be a whole number from 1.");
    showList("refusal", faults.length ? "Not downloaded:" : "", faults);
    if (faults.length) {
      say("");
      find("faults").hidden = true; // the refusal says it all
      find("refusal").scrollIntoView({ block: "nearest" });
      find("refusal").focus({ preventScroll: true });
      return;
    }
    const withTable = state.table !== "";
    const header = ["panellist", "round", "level", "page", ...(withTable ? ["table"] : []), "booklet"];
    const rows = levels.map((level, index) => [
      state.name, state.round, level, state.pages[index], ...(withTable ? [state.table] : []), data.booklet,
    ]);
    const text = toCsv([header, ...rows]);
    const file = `placements-${safeName(state.name)}-round-${state.round}.csv`;
    saveFile(file, text);
    find("copy").hidden = false;
    find("copy-text").value = text;
    say(`Saved as ${file}. Send this file to the person who leads the panel.`);
  }

  // --- drawing ---------------------------------------------------------------------------------------------------------------

  function say(text) {
    find("status").textContent = text;
  }

  function showNote(id, text) {
    find(id).textContent = text;
    find(id).hidden = !text;
  }

  function showList(id, heading, lines) {
    const box = find(id);
    box.hidden = !lines.length;
    const items = lines.map((line) => element("li", {}, line));
    box.replaceChildren(...(lines.length ? [element("strong", {}, heading), element("ul", {}, ...items)] : []));
  }

  const pageCards = [...document.querySelectorAll("[data-page]")].map((card) => ({ card, page: Number(card.dataset.page) }));

  /** Put a button per level under every page, and remember it for drawing. */
  const pageButtons = pageCards.flatMap(({ card, page }) => {
    const made = levels.map((level, index) => {
      const button = element("button", { type: "button", class: `place ${colour(index)}`, "aria-pressed": "false" }, level);
      button.setAttribute("aria-label", `Place ${level} bookmark ${pageName(page)}`);
      button.addEventListener("click", (event) => {
        if (event.detail > 1) return; // the second half of a double click
        place(index, state.pages[index] === page ? null : page);
      });
      return { button, page, index };
    });
    const label = element("span", { class: "place-label", "aria-hidden": "true" }, "Place bookmark here:");
    card.append(element("div", { class: "places", role: "group", "aria-label": `Bookmarks ${pageName(page)}` }, label, ...made.map(({ button }) => button)));
    return made;
  });

  /** Put a row per level into the panel: number, show, remove, and what the level's candidate is like. */
  const rows = levels.map((level, index) => {
    const field = element("input", {
      type: "number", id: `level-page-${index}`, min: firstPage, max: lastPage, step: 1, inputmode: "numeric",
      "aria-describedby": `level-hint-${index}`, autocomplete: "off",
    });
    field.addEventListener("change", () => typed(index, field));
    field.addEventListener("wheel", () => field.blur(), { passive: true }); // scrolling the page must not move a bookmark
    const show = element("button", { type: "button", class: "small", "aria-label": `Show the ${level} bookmark` }, "Show");
    show.addEventListener("click", () => showPage(state.pages[index]));
    const remove = element("button", { type: "button", class: "small", "aria-label": `Remove the ${level} bookmark` }, "Remove");
    remove.addEventListener("click", () => {
      place(index, null);
      field.focus();
    });
    const tag = element("span", { class: `tag ${colour(index)}` }, level);
    const label = element("label", { for: field.id }, tag, element("span", { class: "unseen" }, " bookmark,"), " page");
    const hint = element("p", { id: `level-hint-${index}`, class: "hint" });
    const row = element("div", { class: "level-row" }, label, field, show, remove, hint);
    const described = data.descriptors[index];
    if (described) {
      row.append(element("details", {}, element("summary", {}, `Who has just reached ${level}?`), element("p", { class: "described" }, described)));
    }
    find("level-rows").append(row);
    return { field, show, remove, hint, row };
  });

  const chips = levels.map((level, index) => {
    const chip = element("span", { class: `chip ${colour(index)}` });
    find("panel-toggle").append(chip);
    return chip;
  });

  function showPage(page) {
    const found = pageCards.find((each) => each.page === page);
    if (!found) return;
    openPanel(false);
    found.card.scrollIntoView({ block: "center" });
    found.card.focus({ preventScroll: true });
  }

  function openPanel(open) {
    find("panel").classList.toggle("open", open);
    find("panel-toggle").setAttribute("aria-expanded", String(open));
  }

  function draw() {
    for (const { button, page, index } of pageButtons) {
      button.setAttribute("aria-pressed", String(state.pages[index] === page));
    }
    for (const { card, page } of pageCards) {
      const here = levels.map((_, index) => index).filter((index) => state.pages[index] === page);
      card.classList.toggle("marked", here.length > 0);
      card.querySelector(".marks").replaceChildren(
        ...here.map((index) => element("span", { class: `tag ${colour(index)}` }, `${levels[index]} bookmark`)),
      );
    }
    const crossed = new Set(crossings(levels, state.pages).flatMap(({ lower, upper }) => [lower, upper]));
    rows.forEach(({ field, show, remove, hint, row }, index) => {
      const page = state.pages[index];
      if (!typingFaults[index]) field.value = page === null ? "" : String(page);
      const wrong = Boolean(typingFaults[index]) || crossed.has(index);
      field.setAttribute("aria-invalid", String(wrong));
      row.classList.toggle("wrong", wrong);
      show.disabled = page === null;
      remove.disabled = page === null && !typingFaults[index];
      hint.textContent = hintOf(index);
      chips[index].textContent = `${levels[index]} ${page === null ? "–" : page}`;
      chips[index].classList.toggle("empty", page === null);
      document.querySelectorAll(`[data-record="${index}"]`).forEach((cell) => { cell.textContent = page === null ? "" : String(page); });
    });
    document.querySelectorAll("[data-record=panellist]").forEach((cell) => { cell.textContent = state.name; });
    document.querySelectorAll("[data-record=round]").forEach((cell) => { cell.textContent = String(state.round); });
    document.querySelectorAll("[data-record=table]").forEach((cell) => { cell.textContent = state.table; });
    const placed = state.pages.filter((page) => page !== null).length;
    find("progress").textContent = `${placed} of ${levels.length} bookmarks placed`;
    find("panel-toggle").classList.toggle("wrong", crossed.size > 0);
    find("toggle-title").textContent = crossed.size ? "Bookmarks: please check" : "Your bookmarks";
    find("undo").disabled = undoable.length === 0;
    find("clear").disabled = placed === 0 && !typingFaults.some((fault) => fault);
    showList("faults", "Please check:", faultsNow());
    showList("refusal", "", []);
    const earlier = placed ? null : earlierRound();
    find("copy-round").hidden = earlier === null;
    find("copy-round").textContent = `Start from my round ${earlier} bookmarks`;
  }

  function fillFields() {
    find("panellist").value = state.name;
    find("round").value = String(state.round);
    if (find("table")) find("table").value = state.table;
  }

  // --- start -----------------------------------------------------------------------------------------------------------------

  find("panellist").addEventListener("input", (event) => {
    state.name = tidy(event.target.value);
    keep();
    draw();
  });
  find("table")?.addEventListener("input", (event) => {
    state.table = tidy(event.target.value);
    keep();
    draw();
  });
  find("round").addEventListener("change", (event) => {
    const round = wholeNumber(event.target.value.trim());
    if (round === null || round < 1) {
      event.target.setAttribute("aria-invalid", "true");
      showList("refusal", "Please check:", ["The round has to be a whole number from 1."]);
      return;
    }
    event.target.setAttribute("aria-invalid", "false");
    if (round === state.round) return draw();
    openRound(round);
    keep();
    fillFields();
    draw();
    say(`This is now round ${round}. The bookmarks of other rounds are kept.`);
  });
  find("round").addEventListener("wheel", (event) => event.target.blur(), { passive: true });
  find("copy-round").addEventListener("click", () => {
    const found = kept(earlierRound());
    if (found) change(() => { state.pages = found.pages; typingFaults.fill(""); }, "Bookmarks of the earlier round copied.");
  });
  find("undo").addEventListener("click", undo);
  find("clear").addEventListener("click", () => change(() => {
    state.pages = levels.map(() => null);
    typingFaults.fill("");
  }, "All bookmarks removed. Undo brings them back."));
  find("download").addEventListener("click", download);
  find("print").addEventListener("click", () => window.print());
  find("panel-toggle").addEventListener("click", () => openPanel(!find("panel").classList.contains("open")));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && find("panel").classList.contains("open")) {
      openPanel(false);
      find("panel-toggle").focus();
    }
  });

  const lastOpen = storage && wholeNumber(storage.getItem(keyOf(`opened as ${data.round}`)) ?? "");
  openRound(lastOpen || data.round);
  if (!storage) {
    showNote("storage-note", "This browser does not keep your placements when the page is closed. Download them before you close it.");
  }
  fillFields();
  draw();
  document.documentElement.classList.add("ready");
})();
