// cli/remote: the services of a server (`actorflux services`), one of them, its diagram, its machine and its schemas; and
// `actorflux server resume`.
import { drawingOf } from '../../../inspector/diagram/drawing.ts'
import { svgFileOf } from '../../../inspector/diagram/svg.tsx'
import { textOption, UsageError } from '../../command.ts'
import { shownPlace } from '../../report.ts'
import { serviceFields } from '../arguments.ts'
import { mermaidOf } from '../mermaid.ts'
import { remote, type Remote } from '../remote.ts'
import { aligned, plainJson, plain, plainText } from '../text.ts'

type Service = Awaited<ReturnType<Remote['client']['listServices']>>['services'][number]

const countsOf = ({ contexts }: Service) =>
  Object.entries(contexts)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ')

const triggersOf = ({ triggers }: Service) => triggers.map(triggerText).join(', ')

const webhooksOf = ({ webhooks }: Service) => webhooks.map(({ urlPath }) => String(urlPath)).join(', ')

export const services = remote({
  summary: 'list the services of the server, and the faults of their files',
  async run(_, { client, table, answer }) {
    const listed = await client.listServices()
    answer(listed, () => [
      ...(listed.services.length === 0
        ? ['No service.']
        : table(
            ['SERVICE', 'STATES', 'TRIGGERS', 'WEBHOOKS', 'CONTEXTS'],
            listed.services.map((service) => [
              `${service.package}/${service.fluxName}`,
              service.states.length,
              triggersOf(service),
              webhooksOf(service),
              countsOf(service),
            ]),
          )),
      ...listed.faults.map((fault) => plain(`${shownPlace(fault)}: ${fault.severity}: ${fault.reason}`)),
    ])
  },
})

function triggerText(trigger: unknown) {
  if (typeof trigger === 'object' && trigger !== null && 'event' in trigger) return String(trigger.event)
  return typeof trigger === 'string' ? trigger : JSON.stringify(trigger)
}

const show = remote({
  summary: 'show a service: its inputs, states, triggers and webhooks',
  word: '<package/service>',
  async run({ word }, remote) {
    const service = await serviceNamed(word, remote)
    remote.answer(service, () => serviceLines(service, remote))
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
  const facts = [
    ['file', service.file],
    ['definition', service.definition],
    ['states', service.states.join(', ')],
    ['triggers', triggersOf(service)],
    ['webhooks', webhooksOf(service)],
    ['contexts', countsOf(service)],
  ]
  return [
    style('bold', `${service.package}/${service.fluxName}`),
    ...(service.comment === null ? [] : [plain(service.comment)]),
    '',
    ...aligned(facts.filter(([, text]) => text !== '')),
    ...propertyLines('INPUT', service.input, table),
    ...propertyLines('OUTPUT', service.output, table),
  ]
}

const propertyLines = (name: string, properties: Service['input'], table: Remote['table']) =>
  properties.length === 0
    ? []
    : [
        '',
        ...table(
          [name, 'TYPE', 'REQUIRED', 'DEFAULT'],
          properties.map((property) => [
            String(property['name'] ?? ''),
            String(property['type'] ?? 'string'),
            property['required'] === true ? 'yes' : '',
            property['defaultValue'] === undefined ? '' : JSON.stringify(property['defaultValue']),
          ]),
        ),
      ]

const diagram = remote({
  summary: 'draw a service, to standard output',
  word: '<package/service>',
  hasOwnForm: true,
  options: { format: textOption('svg|mermaid', 'svg if left out') },
  async run({ word, values: { format = 'svg' } }, { client, world }) {
    if (format !== 'svg' && format !== 'mermaid') throw new UsageError('--format must be svg or mermaid')
    const definition = await client.getDefinition(serviceFields(word))
    if (format === 'mermaid') return world.out(mermaidOf(definition))
    const drawing = await drawingOf(definition)
    if (drawing === null) throw new Error(`${word} is too large to be drawn`)
    world.out(plainText(svgFileOf(drawing, word)))
  },
})

export const service = { show, diagram }

export const machine = remote({
  summary: "print a service as the configuration of a machine of XState, which XState's tools draw",
  word: '<package/service>',
  async run({ word }, { client, isJson, world }) {
    world.out(plainJson(await client.getMachine(serviceFields(word)), isJson ? 0 : 2))
  },
})

export const schema = remote({
  summary:
    'print the JSON Schemas of the inputs and outputs of a service; without one, that of .flux and .model files, for editors',
  word: '[package/service]',
  async run({ word }, { client, isJson, world }) {
    if (word !== '') return world.out(plainJson(await client.getServiceSchema(serviceFields(word)), isJson ? 0 : 2))
    const { definitionSchema } = await import('../../../definitions/editor/document.ts')
    world.out(JSON.stringify(definitionSchema()))
  },
})

export const server = {
  resume: remote({
    summary: 'resume a server that was started with serve --paused',
    async run(_, { client, answer }) {
      const resumed = await client.resumeServer()
      answer(resumed, () => [plain(resumed.message)])
    },
  }),
}
