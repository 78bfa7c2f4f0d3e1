// What the model was told for the latest answers, as long as this page lives: nothing of it is
// stored, here or elsewhere.

const MOST = 30; // answers, of all conversations together

/** Event: "kept". */
class Contexts extends EventTarget {
  #all = [];

  /** `answer`: as POST /llm/chat gives it, or the last event of its stream. */
  keep(question, answer) {
    const { session_id, context_text, context_tokens } = answer;
    const kept = { session: session_id, question, text: context_text, tokens: context_tokens, at: new Date() };
    this.#all = [kept, ...this.#all].slice(0, MOST);
    this.dispatchEvent(new Event("kept"));
  }

  /** Of one conversation, newest first. */
  of(session) {
    return this.#all.filter((one) => one.session === session);
  }
}

export const contexts = new Contexts();
