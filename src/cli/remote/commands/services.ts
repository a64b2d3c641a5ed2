// cli/remote: the services of a server (`actorflux services`), one of them, its diagram, its machine and its schemas; and
// `actorflux server resume`.
import type { ServicesView } from '../../../api/services.ts'
import { shownPlace } from '../../../definitions/report.ts'
import { drawingOf } from '../../../inspector/diagram/drawing.ts'
import { svgFileOf } from '../../../inspector/diagram/svg.tsx'
import { isObject, type JsonObject } from '../../../model/json/value.ts'
import { textOption, UsageError } from '../../command.ts'
import { mermaidOf } from '../../mermaid.ts'
import { serviceFields } from '../arguments.ts'
import { remote, type Remote } from '../remote.ts'
import { aligned, plainJson, plain, plainText } from '../text.ts'

type Service = ServicesView['services'][number]

const factsOf = ({ triggers, webhooks, contexts }: Service) => ({
  // An event that starts it is written as its name, or as an object.
  triggers: triggers.map((trigger) => String(isObject(trigger) ? trigger['event'] : trigger)).join(', '),
  webhooks: webhooks.map(({ urlPath }) => String(urlPath)).join(', '),
  contexts: Object.entries(contexts)
    .map(([status, count]) => `${count} ${status}`)
    .join(', '),
})

export const services = remote({
  summary: 'list the services of the server, and the faults of their files',
  async run(_, { client, table, answer }) {
    answer(await client.listServices(), (listed) => [
      ...(listed.services.length === 0
        ? ['No service.']
        : table(
            ['SERVICE', 'STATES', 'TRIGGERS', 'WEBHOOKS', 'CONTEXTS'],
            listed.services.map((service) => [
              `${service.package}/${service.fluxName}`,
              service.states.length,
              ...Object.values(factsOf(service)),
            ]),
          )),
      ...listed.faults.map((fault) => plain(`${shownPlace(fault)}: ${fault.severity}: ${fault.reason}`)),
    ])
  },
})

const show = remote({
  summary: 'show a service: its inputs, states, triggers and webhooks',
  word: '<package/service>',
  async run({ word }, remote) {
    remote.answer(await serviceNamed(word, remote), (service) => serviceLines(service, remote))
  },
})

/** `fluxName` alone will do where only one package has it. */
async function serviceNamed(name: string, { client }: Remote) {
  const { services: all } = await client.listServices()
  const found = all.filter((service) => [service.fluxName, `${service.package}/${service.fluxName}`].includes(name))
  const [service, ...others] = found
  if (service === undefined) throw new Error(`there is no service ${name}`)
  if (others.length > 0)
    throw new Error(`several packages have ${name}: ${found.map((each) => each.package).join(', ')}`)
  return service
}

function serviceLines(service: Service, { table, style }: Remote) {
  const facts = {
    file: service.file,
    definition: service.definition,
    states: service.states.join(', '),
    ...factsOf(service),
  }
  const propertyLines = (head: string, properties: readonly JsonObject[]) => {
    const rows = properties.map(({ name = '', type = 'string', required, defaultValue }) => [
      String(name),
      String(type),
      required === true ? 'yes' : '',
      JSON.stringify(defaultValue) ?? '',
    ])
    return rows.length === 0 ? [] : ['', ...table([head, 'TYPE', 'REQUIRED', 'DEFAULT'], rows)]
  }
  return [
    style('bold', `${service.package}/${service.fluxName}`),
    ...(service.comment === null ? [] : [plain(service.comment)]),
    '',
    ...aligned(Object.entries(facts).filter(([, text]) => text !== '')),
    ...propertyLines('INPUT', service.input),
    ...propertyLines('OUTPUT', service.output),
  ]
}

const diagram = remote({
  summary: 'draw a service, to standard output',
  word: '<package/service>',
  hasOwnForm: true,
  options: { format: textOption('svg|mermaid', 'svg if left out') },
  async run({ word, values: { format = 'svg' } }, { client, io }) {
    if (format !== 'svg' && format !== 'mermaid') throw new UsageError('--format must be svg or mermaid')
    const definition = await client.getDefinition(serviceFields(word))
    if (format === 'mermaid') return io.out(mermaidOf(definition))
    const drawing = await drawingOf(definition)
    if (drawing === null) throw new Error(`${word} is too large to be drawn`)
    io.out(plainText(svgFileOf(drawing, word)))
  },
})

export const service = { show, diagram }

export const machine = remote({
  summary: "print a service as the configuration of a machine of XState, which XState's tools draw",
  word: '<package/service>',
  async run({ word }, { client, isJson, io }) {
    io.out(plainJson(await client.getMachine(serviceFields(word)), isJson ? 0 : 2))
  },
})

export const schema = remote({
  summary:
    'print the JSON Schemas of the inputs and outputs of a service; without one, that of .flux and .model files, for editors',
  word: '[package/service]',
  async run({ word }, { client, isJson, io }) {
    if (word !== '') return io.out(plainJson(await client.getServiceSchema(serviceFields(word)), isJson ? 0 : 2))
    const { definitionSchema } = await import('../../../definitions/editor/document.ts')
    io.out(JSON.stringify(definitionSchema()))
  },
})

export const server = {
  resume: remote({
    summary: 'resume a server that was started with serve --paused',
    async run(_, { client, answer }) {
      answer(await client.resumeServer(), ({ message }) => [plain(message)])
    },
  }),
}
