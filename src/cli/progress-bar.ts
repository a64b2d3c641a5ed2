// cli: the bar that shows on a terminal how far a command is.
import { SingleBar } from 'cli-progress'
import type { CliIo } from './cli-io.ts'

/** Shows the progress that the work tells, where there is a terminal. */
export async function withBar<Result>(
  progress: CliIo['progress'],
  work: (show: (done: number, total: number) => void) => Promise<Result>,
): Promise<Result> {
  const bar =
    progress &&
    new SingleBar({
      stream: progress,
      format: '{bar} {percentage}%  {value} of {total}  {duration_formatted}, {eta_formatted} left',
      barCompleteChar: '█',
      barIncompleteChar: '░',
      hideCursor: true,
      clearOnComplete: true,
      stopOnComplete: false,
    })
  let isBegun = false
  try {
    return await work((done, total) => {
      if (!isBegun) bar?.start(total, done)
      isBegun = true
      bar?.update(done)
    })
  } finally {
    bar?.stop()
  }
}
