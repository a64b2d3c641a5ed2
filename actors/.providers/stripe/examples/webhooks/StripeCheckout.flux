{
  "comment": "Shows: a webhook that starts nothing. It wakes the context that waits: orders.OrderProcess has the id of its order as key, and Stripe gives that id back in client_reference_id.\nNeeds: ACTORFLUX_SECRET_STRIPE_SIGNING, the signing secret of the endpoint at Stripe (whsec_…).\nStart: curl --json '{\"fluxName\":\"orders.OrderProcess\",\"input\":{\"order\":{\"id\":\"4711\",\"customer\":{\"id\":\"c-7\",\"name\":\"Ada\"},\"items\":[{\"sku\":\"pear\",\"quantity\":2,\"price\":5}]}}}' localhost:8080/flux-api/examples/execute\nSend: npx actorflux webhook test /stripe\nSee: 200 with the contextIds of the order, which is shipped. Sent again, the sample is another payment, with an id of its own: 409, since the order waits for none, as it is while the stock is being reserved, and 404 without such an order; Stripe sends again what got one of these. Other events of Stripe are 204. A payment counts once, however often Stripe sends its event.",
  "webhooks": [
    {
      "urlPath": "/stripe", "httpMethods": ["POST"],
      "verify": { "scheme": "stripe", "secrets": ["$secrets.STRIPE_SIGNING"] },
      "dedupe": { "key": "$request.body.id" },
      "when": "$request.body.type == 'checkout.session.completed' && $request.body.data.object.payment_status == 'paid'",
      "send": {
        "event": "'paid'",
        "fluxName": "orders.OrderProcess", "key": "$request.body.data.object.client_reference_id",
        "input": "{ amount: $request.body.data.object.amount_total / 100 }"
      }
    }
  ],
  "states": [{ "name": "Unused", "x": 100, "y": 100, "comment": "The webhook sends, so nothing starts this service." }]
}
