// The browser of the tests: Chromium of the system, which playwright-core drives. Nothing is downloaded.
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
const FOLDERS = ['/usr/bin', ...(process.env['PATH'] ?? '').split(':')]

/** @throws Error that says in one line what to install */
export function launchChromium(): Promise<Browser> {
  const executablePath = NAMES.flatMap((name) => FOLDERS.map((folder) => join(folder, name))).find(isExecutable)
  if (executablePath === undefined)
    throw new Error('the tests of the inspector need Chromium: apt-get install chromium')
  // A container has no room in /dev/shm, and its root no sandbox.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] })
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
