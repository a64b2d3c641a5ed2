// engine/rehearsal: what would become of a context, as the answer of a rehearsal shows it, redacted as views are.
import { MAX_SHOWN, type Would } from '../../api/rehearsal.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { type ContextId, type ContextRecord, dataKey } from '../../model/context.ts'
import { escapedKey } from '../../model/failure.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { sizeOf } from '../../model/json/weight.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import { REDACTED } from '../../model/secret-names.ts'
import { argumentsWithSecrets } from '../../model/secret-reference.ts'
import { redactorOf } from '../redact/redactor.ts'
import type { KnownContext } from '../contexts/context-loader.ts'

/** Entries of a list in the answer. */
export const MAX_ENTRIES = 200
/** Characters of all entries, about, after which no more contexts are shown. */
const MAX_ANSWER_CHARACTERS = 2 * 1024 * 1024
/** Characters of a value as JSON, above which it is cut. */
const MAX_VALUE_CHARACTERS = 1024

/** What became of one context. */
export interface RehearsedContext {
  /** As the store has it; null: it would be started. */
  readonly before: Pick<KnownContext, 'record' | 'flux'> | null
  now: KnownContext
  readonly entered: string[]
  /** The first of them. */
  readonly steps: Would['steps']
  /** The number of the attempts that would start. */
  started: number
  onEnd: string | null
  /** The rows that its log would have besides. */
  readonly log: string[]
  /** Its end was assumed: it is not shown. */
  isAssumed: boolean
  isStopped: boolean
  /** What would happen next has had no effect. */
  isDone: boolean
  /** How often each state has acted, by name. */
  readonly acted: Map<string, number>
}

export const contextOf = (before: RehearsedContext['before'], now: KnownContext): RehearsedContext => ({
  before,
  now,
  entered: [],
  steps: [],
  started: 0,
  onEnd: null,
  log: [],
  isAssumed: false,
  isStopped: false,
  isDone: false,
  acted: new Map(),
})

/** Whether it is started, or has moved. */
export const hasChanged = ({ before, now }: RehearsedContext): boolean => before?.record !== now.record

type Contexts = ReadonlyMap<ContextId, RehearsedContext>

const nameOf = (flux: CompiledFlux, state: number) => flux.states[state]?.name ?? ''

/** The attempt that the record would start. */
export function stepShown(record: ContextRecord, flux: CompiledFlux): Would['steps'][number] {
  const { action, name: state = '' } = flux.states[record.state] ?? {}
  const args = record.args ?? {}
  const whole = action && action.secrets.length > 0 ? argumentsWithSecrets(args, () => REDACTED) : args
  return {
    state,
    kind: action?.type ?? '',
    className: action?.code?.className ?? null,
    methodName: action?.code?.methodName ?? null,
    arguments: cut(redactorOf(record, flux).undeclared(whole)).value,
    assumed: false,
  }
}

/**
 * What would become of the contexts, in the order of their ids; new ones, for whose ids `isNew` is true, come last. Others
 * are served between them.
 */
export async function wouldOf(contexts: Contexts, isNew: (id: number) => boolean): Promise<Would[]> {
  const would: Would[] = []
  const sorted = [...contexts].sort(([one], [other]) => one - other)
  let left = MAX_ANSWER_CHARACTERS
  for (const [, context] of sorted) {
    if (would.length >= MAX_SHOWN || left <= 0) break
    if (context.isAssumed || !hasChanged(context)) continue
    await breathe(charactersOf(context.now.texts))
    const entry = withoutNewIds(entryOf(context, contexts), isNew)
    left -= sizeOf(entry, left)
    would.push(entry)
  }
  return would
}

function entryOf(context: RehearsedContext, contexts: Contexts): Would {
  const { before, now, entered, steps, onEnd, isStopped } = context
  const { record, flux } = now
  const redactor = redactorOf(record, flux)
  const known = (id: ContextId | null) => (id === null ? undefined : contexts.get(id))
  const started = [...contexts.values()].filter((one) => one.before === null && one.now.record.parent?.id === record.id)
  const children = started.slice(0, MAX_ENTRIES).map(({ now: { record: own, flux: service } }) => {
    const input = redactorOf(own, service).values(service.input, own.input)
    return { package: own.package, fluxName: own.fluxName, input: cut(input).value }
  })
  const child = known(record.child)?.now
  return {
    contextId: before && record.id,
    package: record.package,
    fluxName: record.fluxName,
    key: record.key === null ? null : redactor.text(record.key),
    version: before && before.record.version,
    from: before && nameOf(before.flux, before.record.state),
    to: nameOf(flux, record.state),
    entered,
    status: record.status,
    nextRun: record.due,
    error: record.error && redactor.error(record.error),
    changed: changesOf(before ? dataOf(before.record, before.flux) : NEW, dataOf(record, flux)),
    steps,
    children,
    ...(child && {
      child: {
        contextId: child.record.id,
        fluxName: child.record.fluxName,
        state: nameOf(child.flux, child.record.state),
      },
    }),
    onEnd: onEnd === null ? null : redactor.logged.text(onEnd),
    ...(isStopped && { stopped: 'moves' }),
  }
}

/** Of a context that would be started. */
const NEW: JsonObject = { input: {}, output: {}, states: {}, tags: [], paused: false, pending: [] }

/** What a view shows of a context that may change, by the names in it. */
function dataOf(record: ContextRecord, flux: CompiledFlux): JsonObject {
  const redactor = redactorOf(record, flux)
  const states: JsonObject = {}
  for (const index of record.visited) {
    const state = flux.states[index]
    const { input = {}, output = {} } = getOwn(record.states, dataKey(index)) ?? {}
    if (state)
      setOwn(states, state.name, {
        input: redactor.values(state.input, input),
        output: redactor.values(state.output, output),
      })
  }
  return {
    input: redactor.values(flux.input, record.input),
    output: redactor.values(flux.output, record.output),
    states,
    tags: record.tags.map((tag) => redactor.text(tag)),
    paused: record.isPaused === true,
    pending: record.pending.map(({ eventId, event }) => ({ eventId, event: redactor.text(event) })),
  }
}

/** What differs, by JSON pointers (RFC 6901). Lists are compared as a whole. */
function changesOf(before: JsonObject, after: JsonObject): Would['changed'] {
  const changes: Would['changed'] = []
  const compare = (from: Json | undefined, to: Json | undefined, pointer: string) => {
    if (changes.length >= MAX_ENTRIES) return
    const isNamed = isObject(from) || (from === undefined && pointer.split('/').length <= WHOLE_DEPTH)
    if (isObject(to) && isNamed && pointer.length <= MAX_VALUE_CHARACTERS) {
      const old = isObject(from) ? from : {}
      for (const name of new Set([...Object.keys(old), ...Object.keys(to)]))
        compare(getOwn(old, name), getOwn(to, name), `${pointer}/${escapedKey(name)}`)
    } else if (JSON.stringify(from ?? null) !== JSON.stringify(to ?? null)) {
      const [one, other] = [cut(from ?? null), cut(to ?? null)]
      changes.push({ pointer, from: one.value, to: other.value, ...((one.isCut || other.isCut) && { cut: true }) })
    }
  }
  compare(before, after, '')
  return changes
}

/** Names in a pointer up to which what is new is shown name by name: `/states/Pay/output`. */
const WHOLE_DEPTH = 4

/** A value above the limit becomes the beginning of its text. */
function cut(value: Json): { readonly value: Json; readonly isCut: boolean } {
  const text = JSON.stringify(value)
  if (text.length <= MAX_VALUE_CHARACTERS) return { value, isCut: false }
  return { value: text.slice(0, MAX_VALUE_CHARACTERS).toWellFormed(), isCut: true }
}

/** A copy of the answer without the ids that new contexts have in the rehearsal, for which `isNew` is true. */
export const withoutNewIds = <A extends object>(answer: A, isNew: (id: number) => boolean): A =>
  JSON.parse(JSON.stringify(answer), (_, value: unknown) => {
    if (typeof value === 'number') return isNew(value) ? null : value
    if (typeof value !== 'string') return value
    return value.replace(/\b\d{16}\b/g, (digits) => (isNew(Number(digits)) ? '(new)' : digits))
  })
