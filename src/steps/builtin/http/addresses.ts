// steps: tells which IP addresses are public. Requests of services can only reach these, unless a setting allows
// others.
import { lookup as resolve, type LookupAddress } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

const SPECIAL = [
  // Entries of the IANA IPv4 Special-Purpose Address Registry (RFC 6890) that are not globally reachable; multicast and
  // class E (RFC 1112).
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16/32', // A public address that is used for a platform service inside Azure.
  // IANA IPv6 Special-Purpose Address Registry, within the global unicast addresses.
  '2001::/23', // IETF protocols, Teredo and ORCHID among them
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which carries IPv4 addresses of any kind
  '3fff::/20', // documentation
]

const subnets = (...list: readonly string[]): BlockList => {
  const found = new BlockList()
  for (const subnet of list) {
    const [net = '', prefix] = subnet.split('/')
    found.addSubnet(net, Number(prefix), isIP(net) === 6 ? 'ipv6' : 'ipv4')
  }
  return found
}

const special = subnets(...SPECIAL)
/**
 * IANA IPv6 Address Space: the only allocated global unicast part. Loopback, link-local, unique local, IPv4-mapped and
 * multicast addresses are outside it.
 */
const global6 = subnets('2000::/3')
/** NAT64 (RFC 6052): the last 32 bits are an IPv4 address. */
const nat64 = subnets('64:ff9b::/96')

/** Whether the address (text, IPv4 or IPv6) is globally reachable. False for text that is not an address. */
export function isPublic(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.check(address, 'ipv4')
  if (family !== 6 || address.includes('%')) return false
  if (nat64.check(address, 'ipv6')) return isPublic(lastOf(address))
  return global6.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/** The last 32 bits of an IPv6 address as an IPv4 address. */
function lastOf(address: string) {
  const groups = new URL(`http://[${address}]`).hostname
    .slice(1, -1)
    .split(':')
    .slice(-2)
    .map((group) => parseInt(group || '0', 16))
  return groups.flatMap((group) => [group >> 8, group & 255]).join('.')
}

export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress'
  constructor(host: string) {
    super(`"${host}" has no public address, and others are not allowed`)
  }
}

/**
 * Resolves host names for a connection, and returns only public addresses. The connection uses the addresses that are
 * checked here, so a second lookup cannot return others.
 */
export const publicLookup: LookupFunction = (host, options, callback) => {
  resolve(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
    if (error) return callback(error, [])
    const addresses = found.filter(({ address }) => isPublic(address))
    const [first] = addresses
    if (first === undefined) return callback(new ForbiddenAddress(host), [])
    return options.all ? callback(null, addresses) : callback(null, first.address, first.family)
  })
}
