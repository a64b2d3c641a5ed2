// model: in which partition something is kept that is known by a text. Fixed for ever: what was written stays there.

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** The partition of a text: FNV-1a, 32 bits, over its UTF-8 bytes. */
export function partitionOf(text: string, partitions: number): number {
  if (partitions === 1) return 0
  let hash = FNV_OFFSET
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, FNV_PRIME)
  return (hash >>> 0) % partitions
}
