// The services of the tests of the client.
export const SERVICES = {
  'shop/Order.flux': {
    input: [
      { name: 'item', type: 'string', required: true },
      { name: 'serial', type: 'long' },
    ],
    states: [
      {
        name: 'Open',
        waiting: true,
        input: [{ name: 'amount', type: 'double' }],
        transitions: [
          { event: 'paid', to: 'Paid' },
          { event: 'cancel', to: 'Cancelled' },
        ],
      },
      { name: 'Paid', transitions: [] },
      { name: 'Cancelled' },
    ],
  },
}
