// store/lmdb: the one call of fs-native-extensions that we make; the package brings no types.
declare module 'fs-native-extensions' {
  /** Takes an exclusive lock on an open file, which the kernel frees with the file; false if someone else has it. */
  export function tryLock(fd: number): boolean
}
