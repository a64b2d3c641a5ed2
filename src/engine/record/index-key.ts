// engine/record: how an index key is made of names.

/** The name is length-prefixed, so that different names never give the same key. */
export const indexKey = (kind: string, name: string): string => `${kind}:${name.length}:${name}`
