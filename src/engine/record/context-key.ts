// engine/record: where a context with a key is found: its index keys, and the partition in which all contexts of that
// key lie.
import { isFinished } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import { partitionOf } from '../../model/rows.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'

/** An index key made of names: each is length-prefixed, so that different names never give the same key. */
export const indexKey = (kind: string, name: string): string => `${kind}:${name.length}:${name}`

/** A key means something within one service only. */
export interface KeyAddress {
  readonly package: string
  readonly fluxName: string
  readonly key: string
}

/** Index key of the contexts that have the key, as long as they are kept. */
export const keptKey = (address: KeyAddress): string => scoped('key', address)

/** Index key of the context that uses the key: no other may. */
export const usingKey = (address: KeyAddress): string => scoped('using', address)

const scoped = (kind: string, { package: owner, fluxName, key }: KeyAddress): string =>
  indexKey(indexKey(indexKey(kind, owner), fluxName), key)

export const partitionOfKey = (address: KeyAddress, partitions: number): number =>
  partitions === 1 ? 0 : partitionOf(keptKey(address), partitions)

/** The key of a context and its service; null: it has none. */
export const addressOf = ({
  package: owner,
  fluxName,
  key,
}: Pick<ContextRecord, 'package' | 'fluxName' | 'key'>): KeyAddress | null =>
  key === null ? null : { package: owner, fluxName, key }

/** What a context can be found by for its key; empty where it has none. */
export function contextKeysOf(record: ContextRecord, { keyReuse }: CompiledFlux): readonly string[] {
  const address = addressOf(record)
  if (address === null) return NONE
  const isEnd = isFinished(record.status)
  const keys = [indexKey(isEnd ? 'f:key' : 'u:key', address.key), keptKey(address)]
  return isEnd && keyReuse === 'ended' ? keys : [...keys, usingKey(address)]
}

const NONE: readonly string[] = []
