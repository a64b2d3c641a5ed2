// client: what ends a call before its answer: a signal, or the time.

/** What ends with each signal. A signal has one listener, however many wait for it: platforms warn of many. */
const CALLBACKS = new WeakMap<AbortSignal, Set<() => void>>()

/** Calls it when the signal is aborted, or is already, unless what it returns was called before. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {}
  if (signal.aborted) callback()
  const callbacks = CALLBACKS.get(signal) ?? listenTo(signal)
  callbacks.add(callback)
  return () => void callbacks.delete(callback)
}

function listenTo(signal: AbortSignal) {
  const callbacks = new Set<() => void>()
  CALLBACKS.set(signal, callbacks)
  signal.addEventListener('abort', () => callbacks.forEach((callback) => callback()))
  return callbacks
}

/** Timers of a longer time ring at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

export interface Limits {
  /** Aborted with the reason of the given signal, or with a TimeoutError. */
  readonly signal: AbortSignal
  /** Milliseconds that are left. */
  left(): number
  /** Must be called when the call is over. */
  clear(): void
}

/** @param timeout milliseconds */
export function limitedBy(signal: AbortSignal | undefined, timeout = Infinity): Limits {
  const controller = new AbortController()
  const forget = onAbort(signal, () => controller.abort(signal?.reason))
  const end = Date.now() + timeout
  const late = () => controller.abort(new DOMException(`no answer within ${timeout} ms`, 'TimeoutError'))
  const timer = timeout > MAX_TIMER_MS ? undefined : setTimeout(late, timeout)
  return {
    signal: controller.signal,
    left: () => Math.min(end - Date.now(), MAX_TIMER_MS),
    clear() {
      clearTimeout(timer)
      forget()
    },
  }
}

/** Resolves after so many milliseconds. @throws the reason of the signal when that is aborted before */
export function untilLater(delay: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const ring = () => {
      forget()
      resolve()
    }
    const timer = setTimeout(ring, Math.min(delay, MAX_TIMER_MS))
    const forget = onAbort(signal, () => {
      clearTimeout(timer)
      reject(signal?.reason)
    })
  })
}
