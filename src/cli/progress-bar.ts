// cli: the bar that shows on a terminal how far a command is.
import { SingleBar } from 'cli-progress'

export const barOn = (stream: NodeJS.WriteStream): SingleBar =>
  new SingleBar({
    stream,
    format: '{bar} {percentage}%  {value} of {total}  {duration_formatted}, {eta_formatted} left',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
    stopOnComplete: false,
  })
