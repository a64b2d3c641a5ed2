// Compares what the validator says of a file with what the JSON Schema says. They must agree on everything but what a
// schema can't see: what names refer to, whether texts can be parsed, and whether entries of a list are different.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { definitionSchema } from '../../../src/definitions/editor/document.ts'
import type { Fault } from '../../../src/definitions/report.ts'
import type { JsonObject } from '../../../src/model/json/value.ts'

/** Reasons of faults that a schema can't find. */
const UNSEEN: readonly RegExp[] = [
  // What names refer to.
  /^there is no (state|model|module|secret) "/,
  /^there is no "/,
  /^not visible anywhere: /,
  /^only \$request is visible here/,
  /^\$secrets (is visible only|stands for)/,
  /^must be \["\$secrets", "NAME"\]$/,
  /is no name of a secret: /,
  /has no (part|property|input) "/,
  / requires the input "/,
  /is a \S+: it has no "/,
  /is a single value: it has no parts/,
  /is a list: ".*" is no index/,
  /^must be ".*", or be left out: orStart starts/,
  /has no (method|function) "/,
  /^module "/,
  /^model "/,
  /^there is no secret /,
  /^a secret can only be passed on/,
  /^write \$secrets\.NAME/,
  /^webhook clash: /,
  /^a secured service can't have a webhook/,
  // What texts say.
  /can't be parsed: /,
  /is no date: /,
  /is no number of seconds$/,
  /^must be a URL, /,
  /^must be the URL that the provider calls/,
  /^must not be longer than 256 bytes$/,
  /^must be well-formed Unicode$/,
  /^there is no timestampHeader: /,
  /^a "\$\{" has no "\}"$/,
  /is none of \$\{body\}/,
  // What values are.
  /^the default /,
  // A key that is near to a known one: editors only warn of unknown keys.
  /^unknown key ".*"; did you mean "/,
  // What one part says of another.
  /^the scheme "\w+" has no /,
  /^needs timestampHeader: /,
  /^there is no header: /,
  / can't stand together: /,
  /^needs a key: /,
  /^a waiting state needs a transition$/,
  /^a transition without event needs a wait in a waiting state$/,
  /^two transitions of this state have no event$/,
  /^only a transition that names an event can /,
  /^the event is internal, /,
  /^there is no expression to evaluate$/,
  // What a number with a unit comes to.
  /^must be 1 second to /,
  // What is there twice.
  /^two (states|transitions|properties) of this (state|list) are /,
  /^two states are named "/,
]

export const canBeSeen = ({ severity, reason }: Fault): boolean =>
  severity === 'fault' && !UNSEEN.some((pattern) => pattern.test(reason))

const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false, strictRequired: false })
// Keywords of VS Code, which say what is allowed.
ajv.addVocabulary(['errorMessage', 'deprecationMessage'])
ajv.addSchema({ ...definitionSchema(), $id: 'schema' })
const validators = {
  file: ajv.compile({ $ref: 'schema' }),
  flux: ajv.compile({ $ref: 'schema#/$defs/flux' }),
  model: ajv.compile({ $ref: 'schema#/$defs/model' }),
}

/** Faults that the schema finds. `file`: the schema itself decides of which kind the file is. */
export function schemaFaults(kind: keyof typeof validators, source: unknown): string[] {
  const validate = validators[kind]
  return validate(source)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/**
 * How the two differ; null if they agree: the schema refuses nothing that the validator accepts, and everything that it
 * refuses for a reason that a schema can find.
 */
export function disagreement(kind: 'flux' | 'model', source: JsonObject, faults: readonly Fault[]): string | null {
  const seen = faults.filter(canBeSeen).map(({ pointer, reason }) => `${pointer} ${reason}`)
  const found = schemaFaults(kind, source)
  const isRefused = faults.some(({ severity }) => severity === 'fault')
  if (found.length > 0 ? isRefused : seen.length === 0) return null
  const all = faults.map(({ severity, pointer, reason }) => `${severity} ${pointer} ${reason}`)
  return JSON.stringify({ source, validator: all, seen, schema: found }, null, 1)
}
