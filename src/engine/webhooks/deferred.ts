// engine/webhooks: a promise, and the function that resolves it.

export interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
}

export function deferred<T>(): Deferred<T> {
  const settled: { resolve: (value: T) => void } = { resolve: () => undefined }
  const promise = new Promise<T>((resolve) => {
    settled.resolve = resolve
  })
  return { promise, resolve: (value) => settled.resolve(value) }
}
