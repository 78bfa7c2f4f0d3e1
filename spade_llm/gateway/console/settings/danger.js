// What cannot be undone: asked for twice, the second time by typing a word.

import { post } from "../api.js";
import { forgetTalks } from "../chat/talks.js";
import { button } from "../components/button.js";
import { confirmed } from "../components/dialog.js";
import { toast } from "../components/toast.js";
import { el } from "../dom.js";
import { explain } from "../errors.js";
import { uuid } from "../uuid.js";
import { t } from "./texts.js";

const RESET = "RESET";
const DELETE = "DELETE";

export function dangerZone(app) {
  const row = (name, on, isAllowed = true) =>
    el(
      "div",
      { class: "danger-row" },
      el("div", null, el("h3", null, t(name)), el("p", { class: "hint" }, t(isAllowed ? `${name}Hint` : "onlyAdmin"))),
      button({ label: t(name), class: "button is-danger-soft", disabled: !isAllowed, on }),
    );
  return el(
    "section",
    { class: "card settings-part is-danger" },
    el("h2", null, t("danger")),
    row("reset", () => reset(app)),
    row("resetAll", () => resetAll(app), app.me?.is_admin ?? false),
  );
}

async function reset(app) {
  if (!(await confirmed(questionFor("reset", RESET)))) return;
  await done(app, async () => {
    const { new_session_id: session } = await post("session/reset", {});
    toast(t("resetDone"));
    return session;
  });
}

async function resetAll(app) {
  if (!(await confirmed(questionFor("resetAll", DELETE)))) return;
  await done(app, async () => {
    const { deleted } = await post("session/reset-all", { confirmation: DELETE });
    toast(t("resetAllDone", deleted));
    return uuid();
  });
}

async function done(app, act) {
  try {
    const session = await act();
    forgetTalks();
    app.sessions.load();
    app.go("chat", session);
  } catch (error) {
    toast(explain(error), { kind: "failed" });
  }
}

function questionFor(name, word) {
  return { title: `${t(name)}?`, text: t(`${name}Hint`), yes: t(`${name}Yes`), word };
}
