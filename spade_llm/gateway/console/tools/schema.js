// Reading the JSON Schema of a tool's arguments. Pure.

/**
 * How a property can be asked for in a form.
 * @returns {{name, kind, isRequired, description, type, choices?, initial?, limits}} `kind`: text,
 *   number, integer, yes, choice or json
 */
export function fieldsOf(schema) {
  const required = new Set(schema?.required ?? []);
  return Object.entries(schema?.properties ?? {}).map(([name, given]) => {
    const rule = simple(given);
    return {
      name,
      kind: kindOf(rule),
      isRequired: required.has(name),
      description: given.description ?? rule.description ?? "",
      type: typeName(rule),
      choices: rule.enum ?? (rule.const === undefined ? undefined : [rule.const]),
      initial: given.default ?? rule.default,
      limits: limitsOf(rule),
    };
  });
}

/** What was written in a form, as arguments. Throws WrongValue for what is no number or no JSON. */
export function argumentsOf(fields, written) {
  const found = {};
  for (const field of fields) {
    const value = valueOf(field, written[field.name]);
    if (value !== undefined) found[field.name] = value;
    else if (field.isRequired) throw new WrongValue(field.name, "missing");
  }
  return found;
}

export class WrongValue extends Error {
  /** `why`: missing, number, integer or json. */
  constructor(field, why) {
    super(`${field}: ${why}`);
    Object.assign(this, { field, why });
  }
}

/** `anyOf: [X, null]` is an X that may be left out. */
function simple(rule) {
  const some = (rule.anyOf ?? rule.oneOf)?.filter((one) => one.type !== "null");
  if (some?.length === 1) return { ...rule, ...some[0] };
  if (Array.isArray(rule.type)) {
    const types = rule.type.filter((one) => one !== "null");
    if (types.length === 1) return { ...rule, type: types[0] };
  }
  return rule;
}

function kindOf(rule) {
  if (rule.enum || rule.const !== undefined) return "choice";
  const kinds = { string: "text", number: "number", integer: "integer", boolean: "yes" };
  return kinds[rule.type] ?? "json";
}

function typeName(rule) {
  if (rule.type === "array") return `array of ${typeName(rule.items ?? {})}`;
  if (rule.type) return String(rule.type);
  return rule.enum ? "choice" : "any";
}

function limitsOf(rule) {
  const names = ["minimum", "maximum", "minLength", "maxLength", "pattern", "format"];
  return Object.fromEntries(names.filter((n) => rule[n] !== undefined).map((n) => [n, rule[n]]));
}

function valueOf(field, written) {
  if (field.kind === "choice") return field.choices.find((one) => JSON.stringify(one) === written);
  if (field.kind === "yes") return written === "" ? undefined : written === "true";
  if (written === "") return undefined;
  if (field.kind === "text") return written;
  return field.kind === "json" ? jsonOf(field, written) : numberOf(field, written);
}

function numberOf(field, written) {
  const value = Number(written);
  if (!Number.isFinite(value)) throw new WrongValue(field.name, "number");
  if (field.kind === "integer" && !Number.isInteger(value)) throw new WrongValue(field.name, "integer");
  return value;
}

function jsonOf(field, written) {
  try {
    return JSON.parse(written);
  } catch {
    throw new WrongValue(field.name, "json");
  }
}
