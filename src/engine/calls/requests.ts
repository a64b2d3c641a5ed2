// engine/calls: validates the requests of the calls beyond their schemas, which `api/` declares.
import type { CheckedCall } from '../../api/calls.ts'
import { MAX_TIMEOUT_SECONDS } from '../../api/contexts.ts'
import { MAX_TTL_SECONDS, type EventRequest } from '../../api/events.ts'
import { invalid, malformed } from '../../model/failure.ts'
import { isObject, toJson, type JsonObject } from '../../model/json/value.ts'
import { tagErrors, type TagLimits } from '../../model/tags.ts'
import { describeInputErrors } from '../interpreter/describe.ts'
import { newEventId } from '../contexts/ids.ts'

/**
 * @throws FluxError `malformed` if the request does not match the schema, `invalid` for invalid input or tags. The
 * functions below throw the same
 */
export function executeRequest(request: CheckedCall<'execute'>, limits: TagLimits) {
  const {
    package: given,
    fluxName,
    startState,
    input: data,
    untyped = false,
    waits = false,
    tags,
    key,
    existing,
    idempotencyKey,
  } = request
  const { input, isLarge } = checkedInput(data)
  return {
    package: given,
    fluxName,
    startState: startState ?? undefined,
    input,
    isLarge,
    untyped,
    waits,
    tags: checkedTags(tags, '/tags', limits),
    // The service gives its own where none is given.
    key: key ?? undefined,
    existing: existing ?? undefined,
    idempotencyKey,
  }
}

export function eventRequest(checked: CheckedCall<'sendEvent'>, limits: TagLimits) {
  const { contextId, key, fluxName, package: owner, event, input: data, untyped = false, waits = false, tags } = checked
  const { eventId, idempotencyKey, receipt, ttl, orStart, respondAsync = false, respondWithin = 0 } = checked
  const given = eventId ?? checked.cloudEventId ?? idempotencyKey ?? null
  if (given !== null && (idempotencyKey ?? given) !== given)
    throw malformed('the eventId and the idempotency key must be the same, or one of them be left out')
  const { input, isLarge } = checkedInput(data)
  const start = startOf(orStart, limits)
  const address = {
    contextId,
    key,
    fluxName: fluxName ?? start?.fluxName,
    package: owner ?? start?.package,
  }
  return {
    /** null: it is for all that wait for it. */
    address: contextId === undefined && key === undefined ? null : address,
    /** Milliseconds; null: its sender says nothing of it. */
    ttl: ttlOf(ttl),
    /** How a context is started if none has the key; null: none is. */
    start,
    event,
    eventId: given ?? newEventId(),
    /** Whether what becomes of it is kept under that id. */
    isKept: given !== null || receipt === true,
    respondAsync,
    /** Milliseconds. */
    within: Math.min(respondWithin, MAX_TIMEOUT_SECONDS) * 1000,
    input,
    isLarge,
    untyped,
    waits,
    tags: checkedTags(tags, '/tags', limits),
  }
}

/** Inputs and tags of a context that is started if there is none. */
function startOf(given: EventRequest['orStart'], limits: TagLimits) {
  if (given == null) return null
  const { fluxName, package: owner, input, tags } = given
  return {
    fluxName: fluxName ?? undefined,
    package: owner ?? undefined,
    input: checkedInput(input, '/orStart/input').input,
    tags: checkedTags(tags, '/orStart/tags', limits),
  }
}

/** In milliseconds. */
function ttlOf(seconds: number | null | undefined): number | null {
  if (seconds == null) return null
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_TTL_SECONDS)
    return refuse('/ttl', `must be a whole number of seconds from 1 to ${MAX_TTL_SECONDS}`)
  return seconds * 1000
}

/**
 * Number of values from which an input counts as large: copying takes milliseconds, and validating and writing as long
 * again.
 */
const MANY_VALUES = 5000

/** A copy of the input as plain data. `isLarge`: the event loop should be served before further work on it. */
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

/** A checked copy, which the caller cannot change afterwards. */
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

function refuse(pointer: string, detail: string): never {
  const errors = [{ pointer, detail }]
  throw invalid(describeInputErrors(errors), errors)
}
