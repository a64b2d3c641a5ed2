// engine/calls: checks what the schemas in `api/` leave open: inputs and tags, of which it makes copies that the caller cannot
// change afterwards.
import { invalid } from '../../model/failure.ts'
import { isObject, toJson, type JsonObject } from '../../model/json/value.ts'
import { tagErrors, type TagLimits } from '../../model/tags.ts'
import { describeInputErrors } from '../interpreter/describe.ts'

/**
 * Number of values from which an input counts as large: copying takes milliseconds, and validating and writing as long
 * again.
 */
const MANY_VALUES = 5000

/** `isLarge`: the event loop should be served before further work on it. @throws FluxError `invalid` */
export function checkedInput(
  given: JsonObject | null | undefined,
  pointer = '/input',
): { readonly input: JsonObject; readonly isLarge: boolean } {
  const tally = { values: 0 }
  let value
  try {
    value = toJson(given ?? {}, refuseNumber, tally)
  } catch (error) {
    return refuse(pointer, `is no plain data: ${error instanceof Error ? error.message : "it can't be read"}`)
  }
  return isObject(value) ? { input: value, isLarge: tally.values > MANY_VALUES } : refuse(pointer, 'must be an object')
}

/** `1e999` in JSON is parsed as infinity: the number that was sent is lost. */
function refuseNumber(): never {
  throw new RangeError('it has a number beyond what a double can hold')
}

/** @throws FluxError `invalid` */
export function checkedTags(
  given: readonly string[] | null | undefined,
  pointer: string,
  limits: TagLimits,
): readonly string[] {
  const tags = [...(given ?? [])]
  const errors = tagErrors(tags, pointer, limits)
  if (errors.length > 0) throw invalid(describeInputErrors(errors), errors)
  return tags
}

/** @throws FluxError `invalid` for what is there */
export function refuse(pointer: string, detail: string): never {
  const errors = [{ pointer, detail }]
  throw invalid(describeInputErrors(errors), errors)
}
