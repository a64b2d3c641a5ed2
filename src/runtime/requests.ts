// runtime: requests of the nine calls, held to their form. Callers in process are no more trusted to keep to the types than others.
import type {
  ContextRequest, DefinitionRequest, EventRequest, ExecuteRequest, GetContextRequest, GetStateRequest, ListRequest, TagRequest,
} from '../model/calls.ts'
import { STATUSES, type ContextId, type Status } from '../model/context.ts'
import { invalid, malformed } from '../model/failure.ts'
import { isObject, toJson, type JsonObject } from '../model/json.ts'
import { unknownFields } from '../model/unknown-fields.ts'
import { tagErrors, type TagLimits } from '../model/tags.ts'
import { describe } from './describe.ts'

const EXECUTE_FIELDS = fieldsOf<ExecuteRequest>('package', 'fluxName', 'startState', 'input', 'untyped', 'tags')
const EVENT_FIELDS = fieldsOf<EventRequest>('contextId', 'event', 'input', 'untyped', 'tags')
const LIST_FIELDS = fieldsOf<ListRequest>('fluxName', 'tag', 'status', 'currentState', 'startState', 'limit', 'page', 'after')

const LIST_LIMIT = 30
const MAX_LIST_LIMIT = 1000

/** @throws FluxError `malformed` for what isn't of the call's form, `invalid` for invalid input, tags or start state; so do all that follow */
export function executeRequest(request: ExecuteRequest, limits: TagLimits) {
  const { package: given, fluxName, startState, input, untyped = false, tags } = formOf(request, EXECUTE_FIELDS)
  if (startState !== undefined && startState !== null && typeof startState !== 'string') refuse('/startState', 'must be a text')
  return {
    package: optional(given, 'package'), fluxName: text(fluxName, 'fluxName'), startState: startState ?? undefined,
    ...inputOf(input), untyped, tags: tagsOf(tags, '/tags', limits),
  }
}

/** Characters. Answers tell the name again. */
const LONGEST_EVENT = 1000

export function eventRequest(request: EventRequest, limits: TagLimits) {
  const { contextId, event, input, untyped = false, tags } = formOf(request, EVENT_FIELDS)
  const name = text(event, 'event')
  if (name.length > LONGEST_EVENT) throw malformed(`the name of an event must not have more than ${LONGEST_EVENT} characters`)
  if (name.startsWith('$')) throw malformed('names that begin with $ can\'t be sent as events')
  return { contextId: contextId === undefined ? undefined : id(contextId), event: name, ...inputOf(input), untyped, tags: tagsOf(tags, '/tags', limits) }
}

export const contextRequest = (request: ContextRequest) => ({ contextId: id(formOf(request).contextId) })

export function viewRequest(request: GetContextRequest) {
  const { contextId, snapshot = false } = formOf(request)
  if (typeof snapshot !== 'boolean') throw malformed('snapshot must be true or false')
  return { contextId: id(contextId), snapshot }
}

export function stateRequest(request: GetStateRequest) {
  const { contextId, stateName } = formOf(request)
  return { contextId: id(contextId), stateName: text(stateName, 'stateName') }
}

export function tagRequest(request: TagRequest, limits: TagLimits) {
  const { contextId, tag } = formOf(request)
  const tags = tagsOf(tag, '/tag', limits)
  if (tags.length === 0) throw malformed('no tag is given')
  return { contextId: id(contextId), tags }
}

export function definitionRequest(request: DefinitionRequest) {
  const { fluxName, contextId } = formOf(request)
  if (contextId !== undefined) return { contextId: id(contextId) }
  if (fluxName === undefined) throw malformed('fluxName or contextId is needed')
  return { fluxName: text(fluxName, 'fluxName') }
}

export function listRequest(request: ListRequest = {}, limits: TagLimits) {
  const { fluxName, tag, status, currentState, startState, limit = LIST_LIMIT, page = 0, after } = formOf(request, LIST_FIELDS)
  if (!Number.isSafeInteger(limit) || limit < 1) throw malformed('limit must be a positive integer')
  if (!Number.isSafeInteger(page) || page < 0) throw malformed('page must be an integer, 0 or more')
  if (status !== undefined && !isStatus(status)) throw malformed(`status must be one of ${STATUSES.join(', ')}`)
  const size = Math.min(limit, MAX_LIST_LIMIT)
  return {
    fluxName: optional(fluxName, 'fluxName'), tag: tagsOf(tag, '/tag', limits), status,
    currentState: optional(currentState, 'currentState'), startState: optional(startState, 'startState'),
    limit: size, skip: after === undefined ? Math.min(page * size, Number.MAX_SAFE_INTEGER) : 0, after: after === undefined ? undefined : id(after),
  }
}

export type CheckedList = ReturnType<typeof listRequest>

function fieldsOf<T extends object>(...names: (keyof T & string)[]): ReadonlySet<string> {
  return new Set(names)
}

/** `known`: of a call that does more, or shows more, when a field of it is passed over. Others may be given an answer as it is: `getContext(await execute(…))`. */
function formOf<T extends object>(request: T, known?: ReadonlySet<string>): T {
  if (typeof request !== 'object' || request === null) throw malformed('a call takes one object')
  const unknown = known ? unknownFields(Object.keys(request), known) : null
  if (unknown) throw unknown
  return request
}

function id(value: unknown): ContextId {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) throw malformed('contextId must be a positive integer below 2^53')
  return value
}

function text(value: unknown, name: string): string {
  if (typeof value !== 'string' || value === '') throw malformed(`${name} must be a text that is not empty`)
  return value
}

const optional = (value: unknown, name: string): string | undefined => value === undefined || value === null ? undefined : text(value, name)

const isStatus = (value: unknown): value is Status => STATUSES.some((status) => status === value)

/** Values that take milliseconds to be copied, and as many again to be held to a service and written. */
const MANY_VALUES = 5000

/** `isLarge`: others should be served before more is done with it. */
function inputOf(input: unknown): { readonly input: JsonObject; readonly isLarge: boolean } {
  if (input === undefined || input === null) return { input: {}, isLarge: false }
  const tally = { values: 0 }
  let value
  try {
    value = toJson(input, refuseNumber, tally)
  } catch (error) {
    return refuse('/input', `is no plain data: ${error instanceof Error ? error.message : 'it can\'t be read'}`)
  }
  return isObject(value) ? { input: value, isLarge: tally.values > MANY_VALUES } : refuse('/input', 'must be an object')
}

/** `1e999` in JSON arrives as infinity: what was sent is lost already. */
function refuseNumber(): never {
  throw new RangeError('it has a number beyond what a double can hold')
}

/** A copy: what was checked must not be changed afterwards. */
function tagsOf(given: unknown, pointer: string, limits: TagLimits): readonly string[] {
  if (given === undefined || given === null) return []
  if (!Array.isArray(given)) return refuse(pointer, 'must be a list of texts')
  const tags: string[] = [...given]
  const errors = tagErrors(tags, pointer, limits)
  if (errors.length > 0) throw invalid(describe(errors), errors)
  return tags
}

function refuse(pointer: string, detail: string): never {
  const errors = [{ pointer, detail }]
  throw invalid(describe(errors), errors)
}
