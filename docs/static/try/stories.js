// The guided stories: each starts from the state in which the twin started, on 1 July at 18:00.
//
// A step has a text, the requests that it sends, in the notation of the console, and the page that
// it then shows.

export const STORIES = [
  {
    title: "A greenhouse night",
    steps: [
      {
        text:
          "Output 0 is the heater, DS1 the temperature inside, and DS2 the temperature outside. A" +
          " simulated room connects them: it cools down to −4 °C unless the heater runs.",
        requests: [
          "/stm.cgi?oname=0Heater&tname=0Inside&tname=1Outside",
          "/sim.cgi?DS2=-4&plant=room*heater:OUT0*reading:DS1*outside:DS2*power:20*time_constant:2h*start:12*sample:60",
        ],
        page: "#/status",
      },
      {
        text: "Add a rule: below 6 °C the heater runs, until 8 °C.",
        requests: ['POST /api/rules when "Inside" < 6 until 8 then "Heater" on'],
        page: "#/rules",
      },
      {
        text: "Twelve hours pass. The chart shows the night: the heater switches on and off.",
        requests: ["/sim.cgi?advance=43200"],
        page: "#/charts?labels=DS1,OUT0",
      },
      {
        text:
          "Now the relay of the heater fails and stays off. Two hours pass: the controller switches" +
          " the heater on, but the greenhouse gets colder.",
        requests: ["/sim.cgi?fault=output_stuck*label:OUT0*at:off&advance=7200"],
        page: "#/charts?labels=DS1,OUT0",
      },
      {
        text: "Repair the relay, and another hour passes. The greenhouse warms up again.",
        requests: ["/sim.cgi?fault=none&advance=3600"],
        page: "#/log",
      },
    ],
  },
  {
    title: "Why did it not switch?",
    steps: [
      {
        text:
          "The fan is to run from 25 °C, but only while rule 1 is met: 30 °C, the shade is closed." +
          " It is 26 °C, and the fan is off.",
        requests: [
          "/stm.cgi?oname=2Fan&tname=0Greenhouse",
          "/sim.cgi?DS1=26",
          'POST /api/rules when "Greenhouse" >= 30 then EVENT1 on',
          'POST /api/rules when "Greenhouse" >= 25 until 23 then "Fan" on, while rule 1',
        ],
        page: "#/status",
      },
      {
        text: "Rule 2 gives the reason: it depends on rule 1, which is not met.",
        requests: ["/api/rules"],
        page: "#/rules",
      },
      {
        text: "At 31 °C rule 1 is met, and the fan runs.",
        requests: ["/sim.cgi?DS1=31"],
        page: "#/rules",
      },
      {
        text:
          "Someone switches the fan off by hand. The rule does not switch it on again, and the" +
          " drawer of the fan says who switched it last.",
        requests: ["/outs.cgi?out2=0"],
        page: "#/status?thing=OUT2",
      },
    ],
  },
  {
    title: "Travel to next winter",
    steps: [
      {
        text: "It is July. The schedule switches a lamp on at 16:00 and off at 22:00, every day.",
        requests: [
          "/stm.cgi?oname=1Lamp",
          "/inpa.cgi?schedset=0*Evening*1*1*57600*0*127*1",
          "/inpa.cgi?schedset=1*Night*1*0*79200*0*127*1",
        ],
        page: "#/schedule",
      },
      {
        text:
          "Travel 193 days, to 10 January at 17:00. Every evening in between happens, and summer" +
          " time ends on the way. The lamp is on since 16:00 local time.",
        requests: ["/sim.cgi?advance=16675200"],
        page: "#/status?thing=OUT1",
      },
      {
        text: "The log shows the last evenings, each at the right time.",
        requests: ["/api/log"],
        page: "#/log",
      },
    ],
  },
];
