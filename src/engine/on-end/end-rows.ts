// engine/on-end: the rows of webhooks that are owed since contexts have ended. A small row says when the next attempt is
// due; while an attempt is made, the row of its task stands in its place. Both lead to a larger row, which is read only for
// an attempt.
import { createHash } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import type { RowWrite, StoredRow } from '../../model/rows.ts'
import type { TaskAddress } from '../tasks/task.ts'

/** A webhook that is owed. It has all that an attempt needs: the context may be deleted by then. */
export interface OwedWebhook {
  readonly contextId: ContextId
  /** How often the context was retried before it ended: each end owes a webhook. Absent: never. */
  readonly retries?: number | undefined
  readonly package: string
  readonly fluxName: string
  /** null: the template could not be evaluated. */
  readonly url: string | null
  /** Why; null: it could. */
  readonly fault: string | null
  /** Name of the secret that signs. */
  readonly secret: string
  /** The event, as JSON. */
  readonly body: string
}

/** When the next attempt is due. */
export interface DueWebhook {
  readonly partition: number
  /** Of the service: see `laneOf`. */
  readonly lane: string
  readonly contextId: ContextId
  /** As in the webhook. */
  readonly retries?: number | undefined
  /** Epoch milliseconds. */
  readonly due: number
  /** Attempts that have failed. */
  readonly attempts: number
  /** Characters of the larger row. */
  readonly characters: number
}

const SPACE = 'ends'
const LANE_CHARACTERS = 16
const DIGITS = 15

/** What the keys of all rows begin with that say when an attempt is due. */
export const DUE_PREFIX = 'due:'

/** What the keys of the rows of their tasks begin with. */
export const RUN_PREFIX = 'run:'

/** What distinguishes the webhooks of one service from those of others, which must not wait for them. */
export const laneOf = ({ package: owner, fluxName }: Pick<OwedWebhook, 'package' | 'fluxName'>): string =>
  createHash('sha256')
    .update(JSON.stringify([owner, fluxName]))
    .digest('hex')
    .slice(0, LANE_CHARACTERS)

/** Within a lane, keys are in the order of their times. */
const keyOf = (prefix: string, { lane, due, ...end }: DueWebhook): string =>
  `${prefix}${lane}:${String(due).padStart(DIGITS, '0')}:${endOf(end)}`

/** Tells an end of a context from its other ends. */
const endOf = ({ contextId, retries }: Pick<DueWebhook, 'contextId' | 'retries'>): string =>
  retries === undefined ? `${contextId}` : `${contextId}:${retries}`

/** Of that row, or of the row of its task. @throws SyntaxError when it is damaged */
export function readDue({ partition, key, value }: StoredRow): DueWebhook {
  const [, lane = '', due, contextId, times] = key.split(':')
  const retries = times === undefined ? undefined : Number(times)
  return { ...JSON.parse(value), partition, lane, due: Number(due), contextId: Number(contextId), retries }
}

/** What the row of its task has besides. */
export const taskFactsOf = ({ attempts, characters }: DueWebhook): object => ({ attempts, characters })

/** Where the row of the task is that makes an attempt: as the row that says when it is due, but for the beginning. */
export const taskOf = (row: DueWebhook): TaskAddress => ({
  partition: row.partition,
  space: SPACE,
  key: keyOf(RUN_PREFIX, row),
  expiresAt: null,
})

/** Where the larger row is. */
export const placeOf = ({ partition, ...end }: Pick<DueWebhook, 'partition' | 'contextId' | 'retries'>) =>
  ({ partition, space: SPACE, key: `webhook:${endOf(end)}` }) as const

/** The body stands on a line of its own, so that it is not escaped. @throws SyntaxError when it is damaged */
export function readWebhook(value: string): OwedWebhook {
  const end = value.indexOf('\n')
  const facts: Omit<OwedWebhook, 'body'> = JSON.parse(value.slice(0, end))
  return { ...facts, body: value.slice(end + 1) }
}

/** The rows by which a webhook is owed from that time on. */
export function rowsOfOwed(webhook: OwedWebhook, { partitions, due }: { partitions: number; due: number }): RowWrite[] {
  const { body, ...facts } = webhook
  const { contextId, retries } = facts
  const partition = contextId % partitions
  const value = `${JSON.stringify(facts)}\n${body}`
  const row = { partition, lane: laneOf(webhook), contextId, retries, due, attempts: 0, characters: value.length }
  return [dueRow(row), { ...placeOf(row), value, expiresAt: null }]
}

/** That the next attempt is due. */
export const dueRow = (row: DueWebhook) =>
  ({ ...taskOf(row), key: keyOf(DUE_PREFIX, row), value: JSON.stringify(taskFactsOf(row)) }) satisfies RowWrite

/** That the attempt is due no more, unless another server was faster. */
export function takenRow(row: DueWebhook): RowWrite {
  const { value: expects, ...place } = dueRow(row)
  return { ...place, expects, value: null }
}

/** That it is owed no more. */
export const settledRow = (row: DueWebhook): RowWrite => ({ ...placeOf(row), value: null, expiresAt: null })
