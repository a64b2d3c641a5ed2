// cli: the version of the package. package.json is two folders above this file, in the source and in the build.
import { readFileSync } from 'node:fs'

export function versionText(): string {
  const { version }: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return version
}
