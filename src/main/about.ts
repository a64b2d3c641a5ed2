// main: what a server says of itself: name and version.
import { readFile } from 'node:fs/promises'
import type { About } from '../http/docs/home.ts'

export async function readAbout(): Promise<About> {
  const { name, version }: About = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  return { name, version }
}
