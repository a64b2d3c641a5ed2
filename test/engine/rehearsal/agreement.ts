// Rehearses generated calls, makes them, and compares what was foreseen with what has happened.
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { ContextView } from '../../../src/api/contexts.ts'
import { rehearsalAnswer, type Would } from '../../../src/api/rehearsal.ts'
import { isObject, toJson, type Json, type JsonObject } from '../../../src/model/json/value.ts'
import { REDACTED } from '../../../src/model/secret-names.ts'
import { Random } from '../../recorded/random.ts'
import { callOf, executeOf, SECRET, worldOf, type GeneratedCall, type World } from './generated.ts'
import { openStage, type Outcome, type Stage, type StageKind } from './stage.ts'

const STARTS = { from: 3, to: 8 }
const CALLS = { from: 0, to: 6 }
const ROUNDS = 5
const CUT_CHARACTERS = 1024

type Views = ReadonlyMap<number, ContextView>
type Assumed = { readonly steps?: World['outcomes']; readonly until?: number }

/** The number of contexts that were foreseen to move or to start, and did. */
export async function playSeed(seed: number, kind: StageKind): Promise<number> {
  const random = new Random(seed)
  const world = worldOf(random)
  const stage = await openStage(kind, world, seed)
  let foreseen = 0
  try {
    for (let left = random.between(STARTS.from, STARTS.to); left > 0; left -= 1)
      await prepare(stage, executeOf(random, world))
    for (let left = random.between(CALLS.from, CALLS.to); left > 0; left -= 1) {
      await prepare(stage, callOf(random, world, [...(await stage.views()).values()]))
      if (random.chance(0.3))
        await stage.advanceTo(stage.bench.clock.now() + random.pick([15_000, 70_000]), stage.settle)
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      // Nothing is at the same moment as before.
      await stage.advanceTo(stage.bench.clock.now() + 7, stage.settle)
      const call = callOf(random, world, [...(await stage.views()).values()])
      const assumed = assumedOf(random, world, stage.bench.clock.now())
      const about = `seed ${seed}, call ${round + 1} on ${kind}: ${JSON.stringify({ ...call, assumed }).replaceAll(/x{9,}/g, 'x…')}`
      foreseen += await rehearseAndMake({ stage, call, assumed, about })
    }
  } finally {
    await stage.close()
  }
  return foreseen
}

async function prepare({ make, functions, settle, withdraw }: Stage, call: GeneratedCall) {
  functions.begin(functions.states)
  await make(call)
  await settle()
  await withdraw()
}

function assumedOf(random: Random, { outcomes }: World, now: number): Assumed {
  const steps = random.chance(0.15)
    ? undefined
    : Object.fromEntries(Object.entries(outcomes).filter(() => random.chance(0.9)))
  const until = random.chance(0.4) ? now + random.pick([25_000, 700_000, 1_900_000]) : undefined
  return { ...(steps && { steps }), ...(until !== undefined && { until }) }
}

interface Rehearsing {
  readonly stage: Stage
  readonly call: GeneratedCall
  readonly assumed: Assumed
  /** For messages. */
  readonly about: string
}

async function rehearseAndMake({ stage, call, assumed, about }: Rehearsing) {
  const { functions, receiver, noted, make, settle, withdraw, views, dump, bench } = stage
  const [before, stored] = [await views(), await dump()]
  functions.begin(Object.keys(assumed.steps ?? {}))
  receiver.sent.length = 0
  noted.length = 0
  const rehearsed = await make(call, { dryRun: true, assume: assumed })
  await bench.idle()
  expect(await dump(), `${about}: the store`).toBe(stored)
  expect([functions.calls, receiver.sent, noted], `${about}: effects`).toEqual([[], [], []])
  expect(await views(), `${about}: views`).toEqual(before)

  const would = 'answer' in rehearsed ? rehearsalAnswer.parse(rehearsed.answer).would : []
  const target = would.find(({ contextId }) => contextId !== null && contextId === call.request['contextId'])
  const made = await make(call, target && { version: target.version })
  await settle()
  if (would.length > 0) expect(noted, `${about}: the stream`).toContain('a move')
  const named = new Set(would.flatMap(({ contextId }) => contextId ?? []))
  const release = async () => {
    while (functions.release(named)) await settle()
  }
  await release()
  const isNew = (id: number) => !before.has(id)
  const [foreseen, answer] = [await answerOf(rehearsed, call, isNew, stage), await answerOf(made, call, isNew, stage)]
  // Of a call to many, a context may be reached before a relative moves it, or after: both are right.
  const isRace = isForMany(call) && [...before.values()].some(({ child }) => child !== null)
  if (isRace && !isDeepStrictEqual(foreseen, answer)) {
    await withdraw()
    return 0
  }
  expect(foreseen, `${about}: the answer`).toEqual(answer)
  if (assumed.until !== undefined) await stage.advanceTo(assumed.until, release)
  const after = await views()
  const exempt = exemptOf({ before, after, named, until: assumed.until })

  for (const [id, view] of before)
    if (!named.has(id) && !exempt.has(id))
      expect(aloneOf(after.get(id)), `${about}: context ${id}, not named`).toEqual(aloneOf(view))
  const world = { before, after, stage }
  for (const one of would)
    if (one.contextId !== null) expectFits(one, one.contextId, world, `${about}: context ${one.contextId}`)
  const started = would.filter(({ contextId }) => contextId === null)
  const fresh = [...after.keys()].filter((id) => isNew(id) && !exempt.has(id))
  expectStarted(started, fresh, world, `${about}: started`)
  await withdraw()
  return would.length
}

/** Contexts that may move besides, since the clock moves for all: they are due, or relatives of those. */
function exemptOf({
  before,
  after,
  named,
  until,
}: {
  readonly before: Views
  readonly after: Views
  readonly named: ReadonlySet<number>
  readonly until: number | undefined
}): ReadonlySet<number> {
  const exempt = new Set<number>()
  if (until === undefined) return exempt
  for (const { id, nextRun } of before.values())
    if (!named.has(id) && nextRun !== null && nextRun <= until) exempt.add(id)
  for (let size = -1; size < exempt.size;) {
    size = exempt.size
    for (const { id, parent, child } of [...before.values(), ...after.values()]) {
      const isOf = (one: { readonly contextId: number } | null) => one !== null && exempt.has(one.contextId)
      if (isOf(parent) || isOf(child)) exempt.add(id)
    }
  }
  return exempt
}

// Answers.

async function answerOf(
  outcome: Outcome,
  { name, request }: GeneratedCall,
  isNew: (id: number) => boolean,
  stage: Stage,
) {
  const text = (value: string) =>
    value.replaceAll(/\bcontext (\d+)/g, (all, id: string) => (isNew(Number(id)) ? 'context (new)' : all))
  const shown = (value: Json, field = ''): Json => {
    if (Array.isArray(value)) return value.map((item) => shown(item))
    if (isObject(value)) {
      const fields = Object.entries(value).filter(([key]) => key !== 'eventId' || request['eventId'] !== undefined)
      return Object.fromEntries(fields.map(([key, item]) => [key, shown(item, key)]))
    }
    if (typeof value === 'string') return text(value)
    return typeof value === 'number' && (field === 'contextId' || field === 'replaced') && isNew(value) ? null : value
  }
  if ('failure' in outcome) return { failure: shown(plain(outcome.failure)) }
  const {
    dryRun,
    would: _,
    sampled,
    matched,
    wouldMove,
    wouldStart,
    wouldIgnore,
    ...answer
  } = object(plain(outcome.answer))
  expect(sampled).toBe(undefined)
  const counts = { matched, wouldMove, wouldStart, wouldIgnore }
  if (name === 'startOperation') {
    const { operationId, ...rest } = answer
    const ended = dryRun === true ? null : await stage.bench.getOperation({ operationId: String(operationId) })
    const { wouldMove: changed, wouldIgnore: failed, ...same } = { ...rest, ...counts }
    return { ...same, wouldStart: 0, made: ended ? [ended.changed, ended.failed] : [changed, failed] }
  }
  if (isForMany({ name, request }) && dryRun === true && !outcome.replayed) {
    const [moved, kept] = [list(answer['transitions']), list(answer['pending'])]
    const [started, ignored] = [list(answer['executions']), list(answer['ignored'])]
    const move = moved.length + kept.filter((one) => object(one)['contextId'] !== null).length
    const expected = { wouldMove: move, wouldStart: started.length, wouldIgnore: ignored.length }
    expect(counts).toEqual({ ...expected, matched: move + started.length + ignored.length })
  }
  return { answer: shown(answer), replayed: outcome.replayed }
}

const isForMany = ({ name, request }: GeneratedCall) =>
  name === 'startOperation' ||
  (name === 'sendEvent' && request['contextId'] === undefined && request['key'] === undefined)

const plain = (value: object): Json => toJson(value, () => expect.fail('an odd number'))
const object = (value: Json | undefined): JsonObject => (isObject(value) ? value : expect.fail(`no object: ${value}`))
const list = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

// Contexts.

/** Without the states of relatives. */
const aloneOf = (view: ContextView | undefined) => ({
  ...view,
  parent: view?.parent?.contextId,
  child: view?.child?.contextId,
})

interface Happened {
  readonly before: Views
  readonly after: Views
  readonly stage: Stage
}

function expectFits(would: Would, id: number, happened: Happened, about: string) {
  const foreseen = foreseenOf(would, id, happened, about)
  expect(foreseen, about).toEqual(happenedTo(id, happened))
}

const factsOf = ({ fluxName, to, status, entered }: Pick<Would, 'fluxName' | 'to' | 'status' | 'entered'>) =>
  JSON.stringify([fluxName, to, status, entered])

/** Contexts that were started: which of them is which is told by what became of them. */
function expectStarted(started: readonly Would[], ids: readonly number[], happened: Happened, about: string) {
  const left = [...ids]
  for (const would of started) {
    const fits = (id: number) => {
      try {
        expectFits(would, id, happened, about)
        return true
      } catch {
        return false
      }
    }
    const found = left.find(fits)
    if (found !== undefined) left.splice(left.indexOf(found), 1)
    else {
      const alike = left.find((id) => factsOf(happenedTo(id, happened)) === factsOf(would)) ?? left[0]
      if (alike === undefined) expect(would, `${about}, but was not`).toBe(null)
      else expectFits(would, alike, happened, about)
    }
  }
  expect(
    left.map((id) => happenedTo(id, happened)),
    `${about}, but was not foreseen`,
  ).toEqual([])
}

const errorOf = (error: Would['error']) =>
  error && { type: error.type, message: error.message, fluxStackTrace: error.fluxStackTrace }

function happenedTo(id: number, { before, after, stage }: Happened) {
  const old = before.get(id) ?? null
  const view = after.get(id) ?? expect.fail(`context ${id} is gone`)
  const isNew = (one: number) => !before.has(one)
  const children = [...after.values()].filter((one) => isNew(one.id) && one.parent?.contextId === id)
  const { child, executionHistory: moves } = view
  return {
    package: view.package,
    fluxName: view.fluxName,
    key: view.key,
    version: old?.version ?? null,
    from: old?.currentState ?? null,
    to: view.currentState,
    entered: moves.slice(old?.executionHistory.length ?? 0).map(({ stateName }) => stateName),
    status: view.status,
    nextRun: view.nextRun,
    error: errorOf(view.error),
    data: pruned(dataOf(view)),
    steps: stage.functions.calls
      .filter(({ contextId }) => contextId === id)
      .map(({ state, className, methodName, arguments: args }) => ({
        state,
        className,
        methodName,
        arguments: cut(hidden(args)),
      })),
    children: children.map((one) => ({
      package: one.package,
      fluxName: one.fluxName,
      input: pruned(valuesOf(one.input)),
    })),
    child: child && {
      contextId: isNew(child.contextId) ? null : child.contextId,
      fluxName: child.fluxName,
      state: child.state,
    },
    onEnd: stage.receiver.sent.find(({ contextId }) => contextId === id)?.url ?? null,
  }
}

function foreseenOf(would: Would, id: number, { before, after }: Happened, about: string) {
  const { contextId: _, changed, steps, child = null, error, children, stopped, ...facts } = would
  expect(stopped, about).toBe(undefined)
  const [old, view] = [before.get(id), after.get(id)]
  const from = old ? dataOf(old) : NEW
  return {
    ...facts,
    error: errorOf(error),
    data: pruned(applied(from, changed, view ? dataOf(view) : {}, about)),
    steps: steps.map(({ kind: _kind, assumed: _assumed, ...step }) => step),
    children: children.map((one) => ({ ...one, input: pruned(one.input) })),
    child,
  }
}

/** Of a context that is not there yet. */
const NEW: JsonObject = { tags: [], paused: false, pending: [] }

type Model = ContextView['input']

const valuesOf = ({ gloopProperties }: Model): JsonObject =>
  Object.fromEntries(gloopProperties.map((property) => [String(property['name']), property['value'] ?? null]))

/** What `changed` compares, of a view. */
function dataOf({ input, output, stateContexts, tags, paused, pending }: ContextView): JsonObject {
  const states = stateContexts.map((state) => [
    state.name,
    { input: valuesOf(state.input), output: valuesOf(state.output) },
  ])
  return {
    input: valuesOf(input),
    output: valuesOf(output),
    states: Object.fromEntries(states),
    tags,
    paused,
    pending: pending.map(({ event }) => ({ event })),
  }
}

const pointed = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))

const valueAt = (data: Json, names: readonly string[]): Json =>
  names.reduce<Json>(
    (value, name) => (isObject(value) && Object.hasOwn(value, name) ? (value[name] ?? null) : null),
    data,
  )

function changedAt(data: Json, [name, ...names]: readonly string[], value: Json): Json {
  if (name === undefined) return value
  const fields = isObject(data) ? data : {}
  return { ...fields, [name]: changedAt(fields[name] ?? null, names, value) }
}

/** Values that were cut are compared as far as they are shown. */
function applied(before: JsonObject, changed: Would['changed'], after: JsonObject, about: string): Json {
  let data: Json = before
  for (const { pointer, from, to, cut: isCut } of changed) {
    const names = pointed(pointer)
    const [old, next] = [valueAt(before, names), valueAt(after, names)]
    const shown = isCut ? cut : (value: Json) => value
    expect(shown(old), `${about} ${pointer}, before`).toEqual(withoutIds(pointer, from))
    if (isCut) expect(shown(next), `${about} ${pointer}, after`).toEqual(to)
    data = changedAt(data, names, isCut ? next : withoutIds(pointer, to))
  }
  return data
}

const withoutIds = (pointer: string, value: Json): Json =>
  pointer === '/pending' ? list(value).map((one) => ({ event: object(one)['event'] ?? null })) : value

function cut(value: Json): Json {
  const text = JSON.stringify(value)
  return text.length <= CUT_CHARACTERS ? value : text.slice(0, CUT_CHARACTERS).toWellFormed()
}

/** As it is shown. */
const hidden = (value: unknown): Json => JSON.parse(JSON.stringify(value).replaceAll(SECRET, REDACTED))

const isEmpty = (item: Json) => item === null || (isObject(item) && Object.keys(item).length === 0)

/** Without what is null or empty: a view shows what is declared, whether it has a value or not. */
function pruned(value: Json): Json {
  if (!isObject(value)) return value
  const fields = Object.entries(value).map(([name, item]) => [name, pruned(item)] as const)
  return Object.fromEntries(fields.filter(([, item]) => !isEmpty(item)))
}
