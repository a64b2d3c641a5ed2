// client: what ends a call before its answer: a signal, or the time.

export interface Limits {
  /** Aborted with the reason of the given signal, or with a TimeoutError. */
  readonly signal: AbortSignal
  /** Milliseconds that are left. */
  left(): number
  /** Must be called when the call is over. */
  clear(): void
}

/** Timers of a longer time ring at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** @param timeout milliseconds; undefined: as long as it takes */
export function limitedBy(signal: AbortSignal | undefined, timeout: number | undefined): Limits {
  const controller = new AbortController()
  const forward = () => controller.abort(signal?.reason)
  if (signal?.aborted) forward()
  else signal?.addEventListener('abort', forward, { once: true })
  const end = timeout === undefined ? Infinity : Date.now() + timeout
  const late = () => controller.abort(new DOMException(`no answer within ${timeout} ms`, 'TimeoutError'))
  const timer = timeout === undefined || timeout > MAX_TIMER_MS ? undefined : setTimeout(late, timeout)
  return {
    signal: controller.signal,
    left: () => Math.min(end - Date.now(), MAX_TIMER_MS),
    clear() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', forward)
    },
  }
}

/** Resolves after so many milliseconds. @throws the reason of the signal when that is aborted before */
export function untilLater(delay: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(
      () => {
        signal.removeEventListener('abort', abort)
        resolve()
      },
      Math.min(delay, MAX_TIMER_MS),
    )
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
