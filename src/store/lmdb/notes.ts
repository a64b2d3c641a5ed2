// store/lmdb: what the watchdog's thread writes down of a standstill: a file beside the data, whole or not there.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { readStandstill, type Standstill } from '../../model/standstill.ts'
import type { StandstillNotes, NotesPlace } from '../../ports/step-watch.ts'

const Place = z.object({ file: z.string() })
const Note = z.object({ owner: z.string(), text: z.string() })

export const fileNotesPlace = (folder: string, namespace: string): NotesPlace => ({
  module: import.meta.url,
  place: { file: join(folder, `${encodeURIComponent(namespace)}.standstill.json`) },
})

/** For the thread: synchronous, since nobody waits for it but the thread. */
export function openNotes(place: unknown): StandstillNotes {
  const { file } = Place.parse(place)
  return {
    async write(owner, text) {
      const descriptor = openSync(`${file}.tmp`, 'w', 0o600)
      writeSync(descriptor, JSON.stringify({ owner, text }))
      fsyncSync(descriptor)
      closeSync(descriptor)
      renameSync(`${file}.tmp`, file)
      syncFolder(dirname(file))
    },
    async erase() {
      rmSync(file, { force: true })
    },
  }
}

/** What was written of that server; null: nothing that can be read. */
export function readNote(place: unknown, owner: string): Standstill | null {
  try {
    const note = Note.parse(JSON.parse(readFileSync(Place.parse(place).file, 'utf8')))
    return note.owner === owner ? readStandstill(note.text) : null
  } catch {
    return null
  }
}

/** The new name is durable with its folder. Not every system lets a folder be opened. */
function syncFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  } catch {}
}
