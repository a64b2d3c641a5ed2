// client: what ends a call before its answer: a signal, or the time.

export interface Limits {
  /** Aborted with the reason of the given signal, or with a TimeoutError. */
  readonly signal: AbortSignal
  /** Milliseconds that are left. */
  left(): number
  /** Must be called when the call is over. */
  clear(): void
}

interface Listening {
  readonly calls: Set<() => void>
  readonly ring: () => void
}

const LISTENING = new WeakMap<AbortSignal, Listening>()

/**
 * Calls it when the signal is aborted, unless what it returns was called before. However many wait for a signal, it has
 * one listener: platforms warn of many.
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  const listening = LISTENING.get(signal) ?? listenTo(signal)
  const own = () => call()
  listening.calls.add(own)
  return () => {
    listening.calls.delete(own)
    if (listening.calls.size > 0) return
    signal.removeEventListener('abort', listening.ring)
    if (LISTENING.get(signal) === listening) LISTENING.delete(signal)
  }
}

function listenTo(signal: AbortSignal) {
  const calls = new Set<() => void>()
  const listening = { calls, ring: () => calls.forEach((call) => call()) }
  LISTENING.set(signal, listening)
  signal.addEventListener('abort', listening.ring)
  return listening
}

/** Timers of a longer time ring at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** @param timeout milliseconds; undefined: as long as it takes */
export function limitedBy(signal: AbortSignal | undefined, timeout: number | undefined): Limits {
  const controller = new AbortController()
  const forward = () => controller.abort(signal?.reason)
  if (signal?.aborted) forward()
  const forget = signal === undefined || signal.aborted ? () => {} : onAbort(signal, forward)
  const end = timeout === undefined ? Infinity : Date.now() + timeout
  const late = () => controller.abort(new DOMException(`no answer within ${timeout} ms`, 'TimeoutError'))
  const timer = timeout === undefined || timeout > MAX_TIMER_MS ? undefined : setTimeout(late, timeout)
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
    if (signal?.aborted) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      forget()
      reject(signal?.reason)
    }
    const forget = signal === undefined ? () => {} : onAbort(signal, abort)
    const ring = () => {
      forget()
      resolve()
    }
    const timer = setTimeout(ring, Math.min(delay, MAX_TIMER_MS))
  })
}
