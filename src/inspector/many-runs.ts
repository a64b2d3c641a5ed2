// inspector: what is being done with many contexts. A run is of this server, and ends with it; what it did stays true.
import { randomUUID } from 'node:crypto'
import type { FluxApi } from '../api/flux-api.ts'
import type { CountRequest } from '../api/count-contexts.ts'
import { FluxError } from '../model/failure.ts'
import type { Log } from '../ports/log.ts'

export const DEEDS = ['terminate', 'tag', 'untag', 'event'] as const
export type Deed = (typeof DEEDS)[number]

/** Whom it is about: some ids, or all that match. */
export type ChosenContexts = { readonly ids: readonly number[] } | { readonly filter: Omit<CountRequest, 'by'> }

export interface ManyRequest {
  readonly deed: Deed
  /** The tag, or the name of the event; empty for others. */
  readonly with: string
  readonly chosen: ChosenContexts
  /** How many there are, about. */
  readonly matched: number
}

export interface Run extends ManyRequest {
  readonly id: string
  done: number
  changed: number
  isStopped: boolean
  hasEnded: boolean
  /** The first of them. */
  readonly failed: { readonly id: number; readonly detail: string }[]
}

/** Runs that are remembered; of more, the oldest that has ended is forgotten. */
const MAX_RUNS = 50
const MAX_FAILED = 100
/** Contexts that are read, and dealt with, at once. */
const STRIDE = { read: 500, at: 16 }

export class ManyRuns {
  readonly #runs = new Map<string, Run>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  get(id: string): Run | undefined {
    return this.#runs.get(id)
  }

  /**
   * Begins it. Resolves when the first of them are dealt with: a short run has ended then.
   * @throws FluxError `overloaded` when too many are under way
   */
  async start(api: FluxApi, request: ManyRequest): Promise<Run> {
    const ended = [...this.#runs.values()].find(({ hasEnded }) => hasEnded)
    if (this.#runs.size >= MAX_RUNS && !ended)
      throw new FluxError({ kind: 'overloaded', detail: 'too many of these are under way', retryAfter: 5 })
    if (this.#runs.size >= MAX_RUNS && ended) this.#runs.delete(ended.id)
    const run: Run = {
      ...request,
      id: randomUUID(),
      done: 0,
      changed: 0,
      isStopped: false,
      hasEnded: false,
      failed: [],
    }
    this.#runs.set(run.id, run)
    await new Promise<void>((resolve) => {
      void this.#go(api, run, resolve).finally(resolve)
    })
    return run
  }

  stop(id: string): void {
    const run = this.#runs.get(id)
    if (run) run.isStopped = true
  }

  /** `onMany`: there are more than those that are dealt with first. */
  async #go(api: FluxApi, run: Run, onMany: () => void): Promise<void> {
    try {
      for await (const ids of idsOf(api, run.chosen)) {
        for (let at = 0; at < ids.length && !run.isStopped; at += STRIDE.at) {
          if (at > 0) onMany()
          await Promise.all(ids.slice(at, at + STRIDE.at).map((id) => this.#one(api, run, id)))
        }
        if (run.isStopped) break
      }
    } catch (error) {
      this.#log.error('what was asked for many contexts could not go on', { deed: run.deed, error })
      run.failed.push({ id: 0, detail: error instanceof FluxError ? error.failure.detail : 'the server failed' })
    } finally {
      run.hasEnded = true
    }
  }

  async #one(api: FluxApi, run: Run, id: number): Promise<void> {
    try {
      await carryOut(api, run, id)
      run.changed += 1
    } catch (error) {
      if (!(error instanceof FluxError)) this.#log.error('a context could not be changed', { contextId: id, error })
      const detail = error instanceof FluxError ? error.failure.detail : 'the reason is in the log of the server'
      if (run.failed.length < MAX_FAILED) run.failed.push({ id, detail })
    } finally {
      run.done += 1
    }
  }
}

/** Those of a filter as they are when the list comes to them, up to the newest at the beginning. */
async function* idsOf(api: FluxApi, chosen: ChosenContexts): AsyncIterable<readonly number[]> {
  if ('ids' in chosen) {
    yield chosen.ids
    return
  }
  const { filter } = chosen
  const [newest] = (await api.listPage({ ...filter, order: 'desc', limit: 1, view: 'summary' })).contexts
  if (!newest) return
  let after: number | undefined
  for (;;) {
    const request = { ...filter, limit: STRIDE.read, view: 'summary', before: newest.id + 1 } as const
    const { contexts, next } = await api.listPage(after === undefined ? request : { ...request, after })
    yield contexts.map(({ id }) => id)
    if (next === null) return
    after = next
  }
}

async function carryOut(api: FluxApi, { deed, with: word }: Run, contextId: number): Promise<void> {
  switch (deed) {
    case 'terminate':
      await api.terminate({ contextId })
      return
    case 'event':
      await api.sendEvent({ contextId, event: word })
      return
    case 'tag':
      await api.addTags({ contextId, tag: [word] })
      return
    case 'untag':
      await api.removeTags({ contextId, tag: [word] })
  }
}
