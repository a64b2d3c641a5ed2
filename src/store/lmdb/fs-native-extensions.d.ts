// store/lmdb: the type of the only function of fs-native-extensions that is used; the package has no types.
declare module 'fs-native-extensions' {
  /** Takes an exclusive lock on an open file, which the kernel releases with the file; false if the lock is taken. */
  export function tryLock(fd: number): boolean
}
