import{c as a,d as b,e as c}from"./chunk-6LA7GWSK.js";import"./chunk-2VKZIKPP.js";import"./chunk-E5KWVTN7.js";import"./chunk-BX4BRP42.js";export{b as Entries,a as HistoryPage,c as idOf};
