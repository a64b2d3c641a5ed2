// A job that somebody else does. A real `look` would ask that somebody; this one says "done" from the look on that it is told.

export function look({ job, look, readyAfter }: { job: string; look: number; readyAfter: number }) {
  return look >= readyAfter ? { done: true, result: `${job} is done` } : { done: false }
}
