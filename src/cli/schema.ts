// cli: `actorflux schema`: prints the JSON Schemas of a service of a server, or, where none is named, that of .flux and
// .model files.
import { definitionSchema } from '../definitions/editor/document.ts'
import { EXIT, type Command } from './command.ts'
import { single } from './remote/commands.ts'

export const schemaCommand: Command = async (args, world) => {
  const isOfFiles = args.every((word) => word === '--json')
  if (!isOfFiles) return single('schema')(args, world)
  world.out(JSON.stringify(definitionSchema()))
  return EXIT.fine
}
