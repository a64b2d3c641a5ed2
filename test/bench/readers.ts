// The bench's readers of the stream of moves: many connections in a process of its own, which takes what comes and does
// nothing with it.
import { fork } from 'node:child_process'
import { resolve } from 'node:path'
import { JITI } from './servers.ts'

export interface Readers {
  /** Bytes that came since the last question. */
  readonly taken: () => Promise<number>
  readonly stop: () => void
}

/** Opens so many streams, at most a few at once; resolves when the first bytes of each have come. */
export async function startReaders(url: string, count: number): Promise<Readers> {
  const child = fork(JITI, [resolve(import.meta.dirname, 'readers-process.ts'), url, String(count)])
  process.on('exit', () => child.kill('SIGKILL'))
  const next = () =>
    new Promise<number>((succeed, reject) => {
      child.once('message', (message) => succeed(Number(message))).once('exit', () => reject(new Error('no readers')))
    })
  await next()
  return {
    taken() {
      const answer = next()
      child.send('taken')
      return answer
    },
    stop: () => void child.kill(),
  }
}
