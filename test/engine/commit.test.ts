// After a commit, and never before it, steps start and are aborted, alarms are set, others are told.
import { NO_SIGNALS } from '../../src/engine/contexts/deps.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { SYSTEM } from '../../src/model/caller.ts'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { CommitOutcome, Store } from '../../src/ports/store.ts'
import { Commits } from '../../src/engine/turn/commit.ts'
import { ContextCache } from '../../src/engine/contexts/context-loader.ts'
import { held, nextTurn } from '../support/held.ts'
import { emptyStore } from '../support/stores.ts'
import { compiled, event, Hand, TERMINATE, type Decided } from '../support/turns.ts'
import { silent } from '../support/silent.ts'

const work = compiled(
  {
    states: [
      {
        name: 'wait',
        waiting: true,
        transitions: [
          { to: 'work', event: 'go' },
          { to: 'end', wait: 'duration:5' },
        ],
      },
      { name: 'work', action: { type: 'invokeCode', className: 'A', methodName: 'b' }, transitions: [{ to: 'end' }] },
      { name: 'end' },
    ],
  },
  'Work',
)
const parent = compiled({ states: [{ name: 'call', action: { type: 'invokeFlux', name: 'Work' } }] }, 'Parent')

let hand: Hand
beforeEach(() => {
  hand = new Hand([work])
})

/** `fails`: whatever a commit calls throws, once it is noted. */
function open(
  commit: Store['commit'] = () => Promise.resolve({ ok: true }),
  verbs: Partial<Store> = {},
  { fails = false } = {},
) {
  const cache = new ContextCache(1024 * 1024)
  const heard: (string | number)[][] = []
  const logged: (object | undefined)[] = []
  const tell = (word: string) => (id: number) => {
    heard.push([word, id])
    if (fails) throw new Error(word)
  }
  const commits = new Commits({
    store: emptyStore({ ...verbs, commit }),
    cache,
    signals: NO_SIGNALS,
    log: { ...silent, error: (_, fields) => void logged.push(fields) },
    alarm: {
      start() {},
      set: tell('alarm'),
      close: () => Promise.resolve(),
    },
    onStep: ({ id }) => tell('step')(id),
    onReady: ({ record: { id } }) => tell('ready')(id),
    onEnd: tell('end'),
    onOthers: tell('others'),
    onParent: tell('parent'),
    onCommitted() {},
    onLookups: () => {},
    onUnknownOutcome: tell('unknown'),
  })
  return {
    cache,
    heard,
    logged,
    commits,
    commit: ({ work: unit, writes }: Decided): Promise<CommitOutcome> =>
      commits.commit(unit, writes, { lost: 0, incarnation: 0 }),
  }
}

describe('a commit that came true', () => {
  test('sets the alarm, and keeps the context', async () => {
    const { cache, heard, commit } = open()
    const started = hand.start(work)
    const { id } = started.context.record
    expect(await commit(started)).toEqual({ ok: true })
    expect(heard).toEqual([['alarm', 6000]])
    expect(cache.get(id, 0)?.record).toBe(started.context.record)
  })

  test('does all that follows from it for each of its contexts, although each of that throws', async () => {
    const { cache, heard, logged, commit } = open(undefined, {}, { fails: true })
    const started = hand.start(parent)
    const { id, child } = started.context.record
    expect(await commit(started)).toEqual({ ok: true })
    expect(await commit(hand.turn(id, [TERMINATE]))).toEqual({ ok: true })
    expect(heard).toEqual([
      ['alarm', 6000],
      ['end', id],
      ['end', child],
    ])
    expect(logged).toEqual([child, id, child].map((contextId) => ({ contextId, error: expect.any(Error) })))
    expect([cache.get(id, 0), cache.get(child ?? 0, 0)]).toEqual([undefined, undefined])
  })

  test('starts a step, once the store has it and not before', async () => {
    const written = held<CommitOutcome>()
    const { heard, commit } = open(() => written.promise)
    const { id } = hand.start(work).context.record
    const committed = commit(hand.turn(id, [event('go')]))
    await nextTurn()
    expect(heard).toEqual([])
    written.release({ ok: true })
    await committed
    expect(heard).toEqual([['step', id]])
  })

  test('starts no step that a later message of the same turn has ended', async () => {
    const { heard, commit } = open()
    const { id } = hand.start(work).context.record
    await commit(hand.turn(id, [event('go'), TERMINATE]))
    expect(heard).toEqual([['end', id]])
  })

  test('aborts the step of a context that it ends', async () => {
    const { cache, heard, commit } = open()
    const { id } = hand.start(work).context.record
    hand.turn(id, [event('go')])
    await commit(hand.turn(id, [TERMINATE]))
    expect(heard).toEqual([['end', id]])
    expect(cache.get(id, 0)).toBeUndefined()
  })

  test('tells the server that runs the step that it ends, unless it was given back', async () => {
    const { heard, commit } = open()
    const { id } = hand.start(work).context.record
    hand.turn(id, [event('go')], { owner: 'other' })
    await commit(hand.turn(id, [{ type: 'TAG', add: ['t'], remove: [], caller: SYSTEM }]))
    expect(heard).toEqual([])
    await commit(hand.turn(id, [TERMINATE]))
    expect(heard).toEqual([
      ['end', id],
      ['others', id],
    ])

    heard.length = 0
    const given = hand.start(work).context.record.id
    hand.turn(given, [event('go')], { owner: 'other' })
    hand.turn(given, [{ type: 'RELEASE' }], { owner: 'other' })
    await commit(hand.turn(given, [TERMINATE]))
    expect(heard).toEqual([['end', given]])
  })

  test('tells the server that runs the step of a child that ends with its parent', async () => {
    const { heard, commit } = open()
    const { id } = hand.start(parent).context.record
    const child = id + 1
    hand.turn(child, [event('go')], { owner: 'other' })
    await commit(hand.turn(id, [TERMINATE]))
    expect(heard.toSorted()).toEqual(
      [
        ['end', child],
        ['end', id],
        ['others', child],
      ].toSorted(),
    )
  })

  test('tells the parent of an end', async () => {
    const { heard, commit } = open()
    const { id } = hand.start(parent).context.record
    await commit(hand.turn(id + 1, [TERMINATE]))
    expect(heard).toEqual([
      ['end', id + 1],
      ['parent', id],
    ])
  })
})

describe('a commit that did not', () => {
  test('says nothing, and takes over what the store has', async () => {
    const { id } = hand.start(work).context.record
    const other = hand.turn(id, [event('go')], { owner: 'other' })
    const stored = other.writes[0]?.context
    const stale = new Hand([work])
    stale.start(work)
    const { cache, heard, commit } = open(() =>
      Promise.resolve({ ok: false, stale: id, ...(stored && { current: stored }) }),
    )
    expect(await commit(stale.turn(id, [TERMINATE]))).toMatchObject({ ok: false })
    expect(heard).toEqual([])
    expect(cache.get(id, 0)?.record).toMatchObject({ version: 2, lease: { owner: 'other' } })
  })

  test('keeps nothing of a context that goes on with another definition since then', async () => {
    const { id } = hand.start(work).context.record
    const other = hand.turn(id, [event('go')], { owner: 'other' })
    const current = other.writes[0]?.context
    if (!current) throw new Error('it was written')
    const base = { ...JSON.parse(current.parts['base'] ?? ''), definition: 'another' }
    const parts = { ...current.parts, base: JSON.stringify(base) }
    const stale = new Hand([work])
    stale.start(work)
    const { cache, commit } = open(() => Promise.resolve({ ok: false, stale: id, current: { ...current, parts } }))
    await commit(stale.turn(id, [TERMINATE]))
    expect(cache.get(id, 0)).toBeUndefined()
  })

  test.each([
    ['is out of reach', unavailable('away'), []],
    ['may have done it', inDoubt('away'), [['unknown', 1]]],
  ])('is forgotten when the store %s', async (_, error, told) => {
    const { cache, heard, commits } = open(() => Promise.reject(error))
    const started = hand.start(work)
    const { context, work: unit, writes } = hand.turn(started.context.record.id, [event('go')])
    cache.put(started.context, {}, 0)
    await expect(commits.commit(unit, writes, { lost: 0, incarnation: 0 })).rejects.toBe(error)
    expect(heard).toEqual(told)
    expect(cache.get(context.record.id, 0)).toBeUndefined()
  })
})

test('what came to nothing counts only if it was decided on what the store has', async () => {
  let version: number | null = 1
  const { cache, commit } = open(undefined, { version: () => Promise.resolve(version) })
  const started = hand.start(work)
  cache.put(started.context, {}, 0)
  const { id } = started.context.record
  const ignored = () => commit(hand.turn(id, [event('nobody knows')]))
  expect(await ignored()).toEqual({ ok: true })
  expect(cache.get(id, 0)).toBeDefined()
  version = 2
  expect(await ignored()).toMatchObject({ ok: false, stale: id })
  expect(cache.get(id, 0)).toBeUndefined()
})
