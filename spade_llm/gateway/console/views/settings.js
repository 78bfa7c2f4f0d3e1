// Settings: this page, who is asking, what holds in new conversations, and what cannot be undone.

import { field, select, toggle } from "../components/fields.js";
import { el, fill } from "../dom.js";
import { LANGUAGES } from "../i18n.js";
import { account } from "../settings/account.js";
import { numberInput } from "../settings/context_form.js";
import { dangerZone } from "../settings/danger.js";
import { defaults } from "../settings/defaults.js";
import { t } from "../settings/texts.js";
import { store } from "../store.js";

export const icon = "settings";
export const title = () => t("title");

export function mount(root, app) {
  const who = el("div", { class: "settings-account" });
  const danger = el("div");
  const showPerson = () => {
    fill(who, account(app.me));
    fill(danger, dangerZone(app));
  };
  showPerson();
  app.onPerson(showPerson);
  fill(root, page(), defaults(app.signal), who, danger);
  app.onRecovered(app.remount);
}

export function unmount() {}

function page() {
  const languages = [["", t("automatic")], ...Object.entries(LANGUAGES)];
  const themes = ["system", "light", "dark"].map((one) => [one, t(one)]);
  const preference = (name) => ({
    value: store.preference(name),
    on: (value) => store.setPreference(name, value),
  });
  const tokens = { answerTokens: store.preference("answerTokens") };
  const keep = (value) => store.setPreference("answerTokens", value);
  return el(
    "section",
    { class: "card settings-part" },
    el("h2", null, t("page")),
    el(
      "div",
      { class: "settings-pair" },
      field(t("language"), select({ options: languages, ...preference("language") })),
      field(t("theme"), select({ options: themes, ...preference("theme") })),
    ),
    field(t("answerTokens"), numberInput(tokens, "answerTokens", 1, 1_000_000, keep)),
    toggle({
      label: t("keys"),
      hint: t("keysHint"),
      isOn: store.preference("keys"),
      on: (isOn) => store.setPreference("keys", isOn),
    }),
  );
}
