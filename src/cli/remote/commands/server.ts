// cli/remote: `actorflux server resume`: lets a server that was started with --paused go on.
import { EXIT } from '../../command.ts'
import { noWords } from '../arguments.ts'
import type { RemoteCommand } from '../remote.ts'
import { plain } from '../text.ts'

export const resumeServerCommand: RemoteCommand = {
  usage: 'server resume',
  summary: 'let a server that was started with serve --paused go on',
  async run({ words }, { client, answer }) {
    noWords(words)
    const resumed = await client.resumeServer()
    answer(resumed, () => [plain(resumed.message)])
    return EXIT.fine
  },
}
