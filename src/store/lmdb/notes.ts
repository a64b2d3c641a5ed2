// store/lmdb: the note that the watchdog's thread writes when the event loop is blocked: a file beside the data, which
// is complete or does not exist.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { readStandstill, type Standstill } from '../../model/standstill.ts'
import type { StandstillNotes, NotesPlace } from '../../ports/steps.ts'

const Place = z.object({ file: z.string() })
const Note = z.object({ owner: z.string(), text: z.string() })

export const fileNotesPlace = (folder: string, namespace: string): NotesPlace => ({
  module: import.meta.url,
  place: { file: join(folder, `${encodeURIComponent(namespace)}.standstill.json`) },
})

/** Opens the notes in the watchdog's thread. Writes are synchronous, because nothing else runs in that thread. */
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

/** The note about that server; null if there is none that can be read. */
export function readNote(place: unknown, owner: string): Standstill | null {
  try {
    const note = Note.parse(JSON.parse(readFileSync(Place.parse(place).file, 'utf8')))
    return note.owner === owner ? readStandstill(note.text) : null
  } catch {
    return null
  }
}

/** Flushes the folder, which makes the new name of the file durable. Not every system allows opening a folder. */
function syncFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  } catch {}
}
