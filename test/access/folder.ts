import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Path of a file of tokens that isn't there yet; `onEnd` takes what removes its folder. */
export async function tokenFile(onEnd: (remove: () => Promise<void>) => void): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-tokens-'))
  onEnd(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'tokens.json')
}
