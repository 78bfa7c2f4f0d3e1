// Who is asking, and the token that says so.

import { button } from "../components/button.js";
import { field } from "../components/fields.js";
import { el } from "../dom.js";
import { store } from "../store.js";
import { t } from "./texts.js";

export function account(me) {
  const token = el("input", { class: "input", type: "password", autocomplete: "off" });
  const use = (event) => {
    event.preventDefault();
    if (token.value.trim()) store.token = token.value.trim();
  };
  const drop = () => {
    store.token = "";
  };
  return el(
    "section",
    { class: "card settings-part" },
    el("h2", null, t("account")),
    me && facts(me),
    el(
      "form",
      { class: "token-row", on: { submit: use } },
      field(t("tokenLabel"), token, t("tokenHint")),
      button({ label: t("useToken"), type: "submit" }),
      store.token && button({ label: t("dropToken"), on: drop }),
    ),
  );
}

function facts(me) {
  const rows = [
    [t("principal"), el("code", null, me.principal)],
    [t("through"), me.token ? t("token", me.token) : t("noToken")],
    [t("role"), t(me.is_admin ? "admin" : "plain")],
  ];
  return [
    el("dl", { class: "facts" }, rows.map(([name, value]) => [el("dt", null, name), el("dd", null, value)])),
    el("p", { class: "hint" }, t("principalHint")),
  ];
}
