// Confirmation dialogs and modals.

import { blocks, words } from "/page/blocks.js";
import { el } from "/page/markup.js";

export function confirm(about, names) {
  const dialog = document.getElementById("confirm");
  return new Promise((resolve) => {
    const end = (answer) => () => { dialog.close(); resolve(answer); };
    dialog.replaceChildren(
      el("h2", {}, about.title.text), el("div", { class: "dialog-body" }, words(about.text, names)),
      el("footer", {},
        el("button", { type: "button", class: "button", "data-testid": "confirm-deny", onclick: end(false) }, about.deny.text),
        el("button", { type: "button", class: `button ${about.style || "primary"}`, "data-testid": "confirm-ok", onclick: end(true) }, about.confirm.text)));
    dialog.oncancel = end(false);
    dialog.showModal();
  });
}

const KINDS = { number_input: "number", email_text_input: "email", url_text_input: "url", datepicker: "date", timepicker: "time" };

function field(block, people) {
  const one = block.element;
  const common = { "data-field": block.block_id, "data-testid": "modal-field", name: block.block_id };
  const options = one.options || [];
  if (one.type === "static_select") {
    return el("select", { class: "select", ...common }, el("option", { value: "" }, one.placeholder?.text || ""),
      ...options.map((option) => el("option", { value: option.value, selected: one.initial_option?.value === option.value }, option.text.text)));
  }
  if (one.type === "users_select") {
    return el("select", { class: "select", ...common }, el("option", { value: "" }, ""),
      ...Object.values(people).map((person) => el("option", { value: person.id, selected: one.initial_user === person.id }, person.real_name)));
  }
  if (["radio_buttons", "checkboxes", "multi_static_select"].includes(one.type)) {
    const chosen = [one.initial_option, ...(one.initial_options || [])].filter(Boolean).map((option) => option.value);
    const type = one.type === "radio_buttons" ? "radio" : "checkbox";
    return el("div", { class: "choices", ...common }, ...options.map((option) => el("label", {},
      el("input", { type, name: `in-${block.block_id}`, value: option.value, checked: chosen.includes(option.value) }), " ", option.text.text)));
  }
  if (one.multiline) return Object.assign(el("textarea", { rows: 5, ...common }), { value: one.initial_value || "" });
  const input = el("input", { type: KINDS[one.type] || "text", placeholder: one.placeholder?.text, ...common });
  input.value = one.initial_value || one.initial_date || one.initial_time || "";
  return input;
}

function valueOf(node) {
  if (!node.classList.contains("choices")) return node.value;
  const chosen = [...node.querySelectorAll("input:checked")].map((input) => input.value);
  return node.querySelector("input[type=radio]") ? chosen[0] || "" : chosen;
}

export function showModal(view, { people, names, submit, close, press }) {
  const dialog = document.getElementById("modal");
  if (!view) {
    dialog.close();
    return;
  }
  const body = view.blocks.map((block, i) => {
    if (block.type !== "input") return blocks([block], { names, press });
    const known = { ...block, block_id: block.block_id || `b${i}` };
    return el("label", { class: "field" }, el("span", {}, block.label.text, block.optional ? el("small", {}, " (optional)") : null),
      field(known, people), block.hint ? el("small", {}, block.hint.text) : null,
      el("small", { class: "error", "data-error": known.block_id, role: "alert" }));
  });
  const send = async (event) => {
    event.preventDefault();
    const values = Object.fromEntries([...dialog.querySelectorAll("[data-field]")].map((node) => [node.dataset.field, valueOf(node)]));
    const errors = await submit(values);
    for (const node of dialog.querySelectorAll("[data-error]")) node.textContent = errors[node.dataset.error] || "";
  };
  dialog.replaceChildren(el("form", { onsubmit: send },
    el("h2", { "data-testid": "modal-title" }, view.title.text), el("div", { class: "dialog-body" }, ...body),
    el("footer", {},
      el("button", { type: "button", class: "button", "data-testid": "modal-close", onclick: close }, view.close?.text || "Close"),
      view.submit ? el("button", { type: "submit", class: "button primary", "data-testid": "modal-submit" }, view.submit.text) : null)));
  dialog.oncancel = (event) => { event.preventDefault(); close(); };
  if (dialog.open) return;
  dialog.showModal();
  dialog.scrollTop = 0;  // the browser scrolls to the button that gets the focus
}
