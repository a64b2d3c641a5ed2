// store/lmdb: the type of a function of lmdb that its own types omit.
import 'lmdb'

declare module 'lmdb' {
  /** Decodes the bytes of a key in the file. For other bytes, the result is arbitrary. */
  export function bufferToKeyValue(buffer: Buffer): unknown
}
