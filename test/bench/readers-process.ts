// The process of the bench's readers: `readers-process.ts <url> <count>`. It tells when all streams are open, and, asked, how
// many bytes came.
import { connect, type Socket } from 'node:net'

const open = (hostname: string, port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, hostname, () =>
      socket.write('GET /flux-api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    )
    socket.once('data', (first) =>
      first.toString().startsWith('HTTP/1.1 200') ? resolve(socket) : reject(new Error(first.toString())),
    )
    socket.once('error', reject)
  })

async function read(address: string, streams: number): Promise<void> {
  const { hostname, port } = new URL(address)
  let taken = 0
  for (let n = 0; n < streams; n += 1) {
    const socket = await open(hostname, Number(port))
    socket.on('data', ({ length }) => {
      taken += length
    })
  }
  process.on('message', () => {
    process.send?.(taken)
    taken = 0
  })
  process.send?.('open')
}

const [url = '', count] = process.argv.slice(2)
await read(url, Number(count))
