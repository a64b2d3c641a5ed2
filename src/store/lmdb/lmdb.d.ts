// store/lmdb: a function of lmdb's that its types leave out.
import 'lmdb'

declare module 'lmdb' {
  /** The key that these bytes are in the file; anything at all if they are none. */
  export function bufferToKeyValue(buffer: Buffer): unknown
}
