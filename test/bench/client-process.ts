// One of several clients of the bench: does the task that its parent sends, and tells the times of the answers.
import { converse, type Task } from './client.ts'

process.once('message', ({ url, connections, calls, from, seconds, ...expected }: Task) => {
  const times: number[] = []
  const end = performance.now() + seconds * 1000
  let sent = from
  void converse({
    url,
    connections,
    ...expected,
    next: () => (performance.now() < end ? (calls[sent++ % calls.length] ?? null) : null),
    onTime: (begun, ended) => {
      if (ended <= end) times.push(ended - begun)
    },
  }).then(() => process.send?.(Float64Array.from(times), () => process.disconnect()))
})
